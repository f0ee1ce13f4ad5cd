package secondfactor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/hidden"
)

// TicketLife is how long a ticket is good for.
const TicketLife = 5 * time.Minute

// ErrTicket means that a text is no ticket, or a ticket that is too old. [Service.CheckTicket]
// also returns it if a code was accepted, or the recovery codes were renewed, since the ticket
// was given.
var ErrTicket = errors.New("no ticket, or one that is too old")

// A Ticket says that a client has shown a password and has to show a code, so
// that a form need not carry the password twice. It opens nothing without the
// code, unless its holder has shown that as well. It cannot print itself.
type Ticket struct{ hidden.Text }

// Holder is whom a ticket was given to.
type Holder struct {
	UserID idworker.ID
	// Username is who the attempts count for.
	Username string
	// PasswordVersion is that of the password that was shown.
	PasswordVersion int64
	// Last, if not 0, says that the code was shown too, or that none was needed, and is the
	// newest session that the user had then.
	Last idworker.ID
	// Uses is what [Service.Ticket] found of the codes that had been used. A code that
	// was taken since ends the ticket.
	Uses Uses
	// Until is when the ticket ends. [Service.Ticket] makes it [TicketLife] from now, unless it
	// is set: a ticket that is given in place of another stands for the same password, and ends
	// when that one does.
	Until time.Time
}

// Age is how long ago the password was shown, at that time.
func (h *Holder) Age(now time.Time) time.Duration { return max(0, now.Sub(h.Until.Add(-TicketLife))) }

// Uses identifies which codes of a factor were used. It changes with each use, and when
// the recovery codes are renewed. It is a part of a hash, so it shows no code.
type Uses [8]byte

func (f *Factor) uses() (u Uses) {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, uint64(f.Step)), f.Recovery...))
	copy(u[:], sum[:])
	return u
}

// Ticket makes one. It sets the uses of h, and the end unless h has one. Without keys only the process that made it
// can read it.
func (s *Service) Ticket(ctx context.Context, h Holder) (Ticket, error) {
	f, err := s.Store.Factor(ctx, h.UserID)
	if err != nil {
		return Ticket{}, fmt.Errorf("secondfactor: ticket: %w", err)
	}
	h.Uses = f.uses()
	if h.Until.IsZero() {
		h.Until = s.Now().Add(TicketLife)
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(h.Until.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(h.UserID))
	b = binary.BigEndian.AppendUint64(b, uint64(h.PasswordVersion))
	b = binary.BigEndian.AppendUint64(b, uint64(h.Last))
	b = append(append(b, h.Uses[:]...), h.Username...)
	return Ticket{hidden.Of(base64.RawURLEncoding.EncodeToString(s.ticketKeys().seal(forTicket, 0, b)))}, nil
}

// ticketKeys are the configured keys. Without a configured key no code of an app can be checked,
// but a recovery code can, so tickets are needed all the same. Then the key is one that this
// process has made, and that is never written down.
func (s *Service) ticketKeys() Keys {
	if !s.Keys.None() {
		return s.Keys
	}
	s.once.Do(func() {
		key := make([]byte, KeyLength)
		_, _ = rand.Read(key)   // never fails
		s.own, _ = NewKeys(key) // it has the length
	})
	return s.own
}

// Redeem reads a ticket, or returns [ErrTicket]. A ticket may be read more than once:
// after a wrong code a client tries another, and each try counts against the limits of
// a login. [Service.CheckTicket] accepts one code for it.
func (s *Service) Redeem(text string) (Holder, error) {
	if len(text) > 1024 {
		return Holder{}, fmt.Errorf("secondfactor: redeem: %w", ErrTicket)
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimSpace(text))
	if err != nil {
		return Holder{}, fmt.Errorf("secondfactor: redeem: %w", ErrTicket)
	}
	b, err := s.ticketKeys().open(forTicket, 0, sealed)
	if err != nil || len(b) < 40 {
		return Holder{}, fmt.Errorf("secondfactor: redeem: %w", ErrTicket)
	}
	read := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	until := time.UnixMilli(read(0))
	if !s.Now().Before(until) {
		return Holder{}, fmt.Errorf("secondfactor: redeem: %w", ErrTicket)
	}
	return Holder{
		UserID: idworker.ID(read(8)), PasswordVersion: read(16), Last: idworker.ID(read(24)), Uses: Uses(b[32:40]), Username: string(b[40:]), Until: until,
	}, nil
}

// unused returns [ErrTicket] if a code was accepted since the ticket of h was given, or the
// factor has changed.
func (s *Service) unused(ctx context.Context, h Holder) error {
	f, err := s.Store.Factor(ctx, h.UserID)
	switch {
	case err != nil:
		return fmt.Errorf("secondfactor: unused: %w", err)
	case f.uses() != h.Uses:
		return fmt.Errorf("secondfactor: unused: %w", ErrTicket)
	}
	return nil
}
