package secondfactor

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// TicketLife is how long a ticket is good for.
const TicketLife = 5 * time.Minute

// ErrTicket means that a text is no ticket, or one that is too old.
var ErrTicket = errors.New("no ticket, or one that is too old")

// A Ticket says that somebody has shown a password and has to show a code, so
// that a form need not carry the password twice. It opens nothing without the
// code. It cannot print itself.
type Ticket struct{ hidden }

// Holder is whom a ticket was given to.
type Holder struct {
	UserID idworker.ID
	// Username is who the attempts count for.
	Username string
	// PasswordVersion is that of the password that was shown.
	PasswordVersion int64
}

// Ticket makes one. Without keys only the process that made it can read it.
func (s *Service) Ticket(h Holder) Ticket {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.Now().Add(TicketLife).UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(h.UserID))
	b = binary.BigEndian.AppendUint64(b, uint64(h.PasswordVersion))
	return Ticket{hide(base64.RawURLEncoding.EncodeToString(s.ticketKeys().seal(forTicket, 0, append(b, h.Username...))))}
}

// ticketKeys are the configured keys. Without any nobody's code can be checked, but
// a recovery code can: then it is one that is never written down.
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

// Redeem reads a ticket, or returns [ErrTicket]. It may be read more than once:
// the code is what works once.
func (s *Service) Redeem(text string) (Holder, error) {
	if len(text) > 1024 {
		return Holder{}, fmt.Errorf("secondfactor: redeem: %w", ErrTicket)
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimSpace(text))
	if err != nil {
		return Holder{}, fmt.Errorf("secondfactor: redeem: %w", ErrTicket)
	}
	b, err := s.ticketKeys().open(forTicket, 0, sealed)
	if err != nil || len(b) < 24 {
		return Holder{}, fmt.Errorf("secondfactor: redeem: %w", ErrTicket)
	}
	read := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	if s.Now().UnixMilli() >= read(0) {
		return Holder{}, fmt.Errorf("secondfactor: redeem: %w", ErrTicket)
	}
	return Holder{UserID: idworker.ID(read(8)), PasswordVersion: read(16), Username: string(b[24:])}, nil
}
