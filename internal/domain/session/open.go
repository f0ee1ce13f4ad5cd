package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// Opened is a new login: the only place where its token exists.
type Opened struct {
	Token    flakepass.Token
	Identity flakepass.Identity
	Replaced []idworker.ID // the logins that ended for it and had lived until then
	// DeletionCancelled means that the user had asked for the account to be deleted, and
	// that the login has cancelled that.
	DeletionCancelled bool
	// NewDevice is that of [Begun].
	NewDevice bool
	// Repeats is that of [Begun].
	Repeats idworker.ID
}

// Open begins a login of that user on a device, whose password in that version was
// checked, and ends those for which it leaves no room. It is the act of by, who is that user
// or an issuer. It fails as [Writer].Begin does. What an issuer opens is always on record: the
// transaction that writes the event is the one that checks the right.
func (s *Service) Open(ctx context.Context, by audit.Actor, user idworker.ID, passwordVersion int64, on *Device, in Place) (Opened, error) {
	now, err := s.clock()
	if err != nil {
		return Opened{}, fmt.Errorf("session: open: %w", err)
	}
	o := Opening{UserID: user, PasswordVersion: passwordVersion, Seen: now, Device: on, Place: in}
	need := audit.NeedsNothing
	if in.Issued != nil {
		need = audit.NeedsIssuer
	}
	if s.Recorded || in.Issued != nil {
		o.Record = &Record{By: by, Need: need, Policy: s.Policy.Current(), Now: now}
	}
	opened, err := s.open(ctx, o)
	if errors.Is(err, ErrDeletionAsked) { // rare: so no other login mints an ID for the event
		o.Cancels = &Record{By: by, Need: audit.NeedsNothing}
		if o.Cancels.ID, err = s.IDs.NextAfter(ctx, 0); err == nil {
			opened, err = s.open(ctx, o)
		}
	}
	if err != nil {
		return Opened{}, fmt.Errorf("session: open: %w", err)
	}
	return opened, nil
}

// open begins o, and publishes the ends of those for which it leaves no room.
func (s *Service) open(ctx context.Context, o Opening) (Opened, error) {
	now := o.Seen
	token, begun, err := s.begin(ctx, o)
	if err != nil {
		return Opened{}, err
	}
	rule := begun.Session.Expiry(s.Policy.Current())
	opened := Opened{
		Token: token, Identity: identity(&begun.Session, layout.Time(begun.Session.ID), &rule),
		NewDevice: begun.NewDevice, DeletionCancelled: begun.DeletionCancelled, Repeats: begun.Repeats,
	}
	// The new login stands, whether or not the other instances could be notified; the
	// old ones are over everywhere within the bound.
	_ = s.Store.Publish(ctx, begun.Replaced...)
	for _, old := range begun.Replaced {
		if was := OverBefore(old, s.Policy.Current(), now); !was.Before && was.Ended == Replaced {
			opened.Replaced = append(opened.Replaced, was.ID)
		}
	}
	return opened, nil
}

// How is how the user was authenticated; nil for a session that no issuer opens.
func (i *Issued) How() *Auth {
	if i == nil {
		return nil
	}
	return &i.Auth
}

// openTime is how long a login may take with all its tries: well below the time that a
// server has to write its answer. A login that began later would have no client.
const openTime = 5 * time.Second

// openTries is how many IDs a login tries. The first is too small only if a login of
// the same user has begun meanwhile, or if the clock of the worker that minted the ID of
// the previous login is ahead. Of several logins of one user at once, one succeeds in
// each round.
const openTries = 16

// begin begins o with an ID and a token of its own.
//
// Both are made before the row is locked. A worker whose range has run out asks the
// database for another, and would wait there for the connection, or in SQLite for
// the write lock, that a Begin waiting for its ID holds.
func (s *Service) begin(ctx context.Context, o Opening) (flakepass.Token, Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	var above idworker.ID
	for try := 1; ; try++ {
		id, err := s.IDs.NextAfter(ctx, above)
		if err != nil {
			return flakepass.Token{}, Begun{}, err
		}
		token := flakepass.NewToken(flakepass.ID(id))
		o.ID, o.Hash = id, HashOf(token)
		begun, err := s.Writer.Begin(ctx, o)
		refused, ok := errors.AsType[*IDError](err)
		if !ok || try == openTries {
			return token, begun, err
		}
		above = refused.Above
	}
}

// A RefusedError is a [*flakepass.Refusal] of a login that is known, with its user.
// That is for the record, not for the client.
type RefusedError struct {
	ID       idworker.ID
	UserID   idworker.ID
	Username string
	Role     string // of the user, as far as what is kept of the login says
	// Forged means that the secret is not that of this login's token, and never
	// was: the token is made up.
	Forged bool
	Err    *flakepass.Refusal
}

// Error is that of Err.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *RefusedError) Unwrap() error { return e.Err }

func refusedBecause(s *Session, why *flakepass.Refusal) error {
	return &RefusedError{ID: s.ID, UserID: s.UserID, Username: s.Username, Role: s.Role, Err: why}
}

// Whose is err, with the login s in it if it is a refusal.
func Whose(s *Session, err error) error {
	if why, ok := errors.AsType[*flakepass.Refusal](err); ok {
		return refusedBecause(s, why)
	}
	return err
}

// forged is the refusal of a token that names s and has not its hash. What is
// kept of a login without its hash proves nothing.
func forged(s *Session) error {
	if s.Hash == (Hash{}) {
		return flakepass.ErrInvalid
	}
	return &RefusedError{ID: s.ID, UserID: s.UserID, Username: s.Username, Role: s.Role, Forged: true, Err: flakepass.ErrInvalid}
}

// Room says which of the sessions that a user has end for a new one on that device, by the
// numbers of the policy, and in which slot the new one begins. held are those that the rows
// have, in any order.
//
// A session on the same device ends: on a device with the same key, or of the same class and with
// the same non-empty name. Then the sessions end that are too many, as [Excess] says.
//
// If the policy refuses a session above its numbers, full reports whether one of the sessions that
// are too many still lives. The session with the ID instead ends in any case.
//
// slot is the lowest one that is free afterwards. So the session of a user who has one session at
// a time is always in slot 0.
func Room(held []Session, rule *policy.Policy, on *Device, instead idworker.ID, over func(*Session) bool) (ends []Session, slot Slot, full bool) {
	var stay []Session
	for i := range held {
		if s := &held[i]; s.Alive() && !s.Device.same(on) && s.ID != instead {
			stay = append(stay, *s)
		} else {
			ends = append(ends, *s)
		}
	}
	too := excess(stay, rule, on.ClassName(), over)
	full = rule.Refuse && slices.ContainsFunc(too, func(s Session) bool { return !over(&s) })
	ends, stay = append(ends, too...), stay[len(too):]
	for slices.ContainsFunc(stay, func(s Session) bool { return s.Slot == slot }) {
		slot++
	}
	return ends, slot, full
}

// Excess are those of the sessions of a user that are too many by the policy: on one class of
// devices, and of all. First go those that have ended already, as over reports, and then the
// least recently used. It sorts held so that they are the first.
func Excess(held []Session, rule *policy.Policy, over func(*Session) bool) []Session {
	return excess(held, rule, "", over)
}

// excess is Excess with a place left for a new session on a device of that class, if it is
// not empty.
func excess(held []Session, rule *policy.Policy, class string, over func(*Session) bool) []Session {
	slices.SortFunc(held, func(a, b Session) int {
		return cmp.Or(first(over(&a), over(&b)), a.Seen.Compare(b.Seen), cmp.Compare(a.ID, b.ID))
	})
	on := map[string]int{class: 1} // each class
	for i := range held {
		on[held[i].Device.ClassName()]++
	}
	var ends, stay []Session
	for i := range held {
		if of := held[i].Device.ClassName(); on[of] > max(rule.MostOn(of), 1) {
			on[of]--
			ends = append(ends, held[i])
		} else {
			stay = append(stay, held[i])
		}
	}
	most := max(min(rule.MaxSessions, policy.MostSessions), 1)
	if class != "" {
		most--
	}
	too := len(ends) + max(len(stay)-most, 0)
	copy(held, append(ends, stay...))
	return held[:too]
}

// IsNew reports whether on is another device than all of last, which are the devices of the last
// session in each slot of a user. Two devices of one class count as the same if neither has a name
// or a key. IsNew is false if last is empty.
func IsNew(last []*Device, on *Device) bool {
	return len(last) > 0 && !slices.ContainsFunc(last, func(d *Device) bool {
		return d.same(on) || d.ClassName() == on.ClassName() && d.bare() && on.bare()
	})
}

// bare reports whether nothing tells the device from others of its class.
func (d *Device) bare() bool { return d.Label() == "" && (d == nil || d.Key == "") }

// first puts what is true before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// same reports whether the app says that both are one device. If both have a key, the keys decide.
// Otherwise class and name must be equal, and the name must not be empty. A device with neither
// key nor name may be any device, so it is the same as none.
func (d *Device) same(o *Device) bool {
	switch {
	case d == nil || o == nil:
		return false
	case d.Key != "" && o.Key != "":
		return d.Key == o.Key
	}
	return d.Name != "" && d.Name == o.Name && d.Class == o.Class
}
