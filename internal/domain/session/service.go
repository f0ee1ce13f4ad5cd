package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A Service begins, recognises and ends logins. Set the fields once, before
// use. It is a [flakepass.Verifier].
type Service struct {
	// Store is asked about sessions, and receives their ends: the nearest tier.
	Store Store
	// Rows are behind all tiers.
	Rows Rows
	// Writer is where sessions begin and end.
	Writer Writer
	// Recorded says that each login and each logout is put on record.
	Recorded bool
	// IDs mints the IDs of sessions.
	IDs Minter
	// EventIDs mints the IDs of the events of ends. It is apart from IDs because an end
	// must not fail while no session can begin.
	EventIDs audit.IDs
	// Rights are asked where a verb of a user has found nothing to end.
	Rights Rights
	// Policy says when a session is over.
	Policy interface{ Current() *policy.Policy }
	// Known, if set, is what this instance has read of the database. Without it
	// the clock is that of this machine, and only the rows decide what is over.
	Known Known
	// Near is a time before the end of an idle timeout. A use within it is written before the
	// answer. Near must be longer than the bound, and longer than it may take to write a use
	// behind the answer. At most half of the idle timeout counts.
	Near time.Duration
	// Now is the time if there is no Known.
	Now func() time.Time
	// Settled, if set, is called with every session that the rows have decided about:
	// a living one with the time of its last use, or an ended one. It must not block.
	Settled func(Session)
	// Accepted, if set, is called with every accept. It must not block.
	Accepted func(Accept)
}

// Rights checks whether by has the right that is needed, as the transaction of an end does,
// and with the same errors.
type Rights interface {
	Authorize(ctx context.Context, by audit.Actor, need audit.Need) error
}

// Known is what an instance has read of the database.
type Known interface {
	// Global is the ID at and below which every session is over.
	Global() idworker.ID
	// Watermark is the time at and before which every session that was issued is
	// too old, whatever the policy becomes.
	Watermark() time.Time
	// ClockAt is what the database's clock shows when that of this machine shows at, or
	// false if it was never read.
	ClockAt(at time.Time) (time.Time, bool)
}

// An Accept says what an accepted token relied on: the tier that answered, its as-of
// and, if the as-of was too old, the horizon up to which every end was known.
type Accept struct {
	ID      idworker.ID
	Slot    Slot
	At      time.Time
	Source  Source
	AsOf    time.Time
	Horizon time.Time
}

// A Minter mints an ID greater than floor.
type Minter interface {
	NextAfter(ctx context.Context, floor idworker.ID) (idworker.ID, error)
}

var layout = idworker.Default()

var _ flakepass.Verifier = (*Service)(nil)

// Verify says who holds t. The error is a [*flakepass.Refusal] if there is no holder,
// and anything else if the answer could not be found out.
//
// Two refusals need no I/O, because the ID of the token proves them: the ID is at or
// below the global floor, or it was issued at or before the watermark that a poll has
// proven. The row decides about every other session that looks over by the policy: the
// policy and the uses that this instance knows may be as old as the bound, and a
// refusal must stay true.
//
// A passive ctx (see [flakepass.NewPassiveContext]) gets the same verdict and
// leaves the login as it is: no use is noted.
func (s *Service) Verify(ctx context.Context, t flakepass.Token) (flakepass.Identity, error) {
	who, _, err := s.Examine(ctx, t)
	return who, err
}

// Examine is [Service.Verify], and says what the accept relies on.
func (s *Service) Examine(ctx context.Context, t flakepass.Token) (flakepass.Identity, Accept, error) {
	began, id := s.now(), IDOf(t)
	issued := layout.Time(id)
	if err := s.over(id, issued); err != nil {
		return flakepass.Identity{}, Accept{}, err
	}
	hash := HashOf(t)
	got, err := s.Store.Get(ctx, id, hash)
	err = held(&got, err, &hash)
	// Check once more. The answer relies on a horizon. The floor, the watermark and the policy that
	// are known now are at least as new as that horizon.
	if err == nil {
		err = s.over(id, issued)
	}
	if err != nil {
		return flakepass.Identity{}, Accept{}, err
	}
	at := began // an answer from memory takes less than a microsecond, and a clock a tenth of that
	if got.Source != FromMemory {
		at = s.now()
	}
	now, err := s.clockAt(at)
	if err != nil {
		return flakepass.Identity{}, Accept{}, err
	}
	rule := got.Expiry(s.Policy.Current())
	used := now
	if got.Act != 0 || flakepass.IsPassive(ctx) {
		used = time.Time{}
	}
	if s.unsure(&got, &rule, issued, now, !used.IsZero()) {
		if got, err = s.settle(ctx, got, &hash, used); err != nil {
			return flakepass.Identity{}, Accept{}, err
		}
	} else if !used.IsZero() && now.Sub(got.Seen) >= rule.Touch {
		// The answer does not wait for this write and does not promise it: the times in the answer
		// follow from what the row says without this use.
		_ = s.Store.Touch(ctx, id, used)
	}
	reliesOn := Accept{ID: id, Slot: got.Slot, At: began, Source: got.Source, AsOf: got.AsOf, Horizon: got.Horizon}
	if s.Accepted != nil {
		s.Accepted(reliesOn)
	}
	return identity(&got, issued, &rule), reliesOn, nil
}

// now is the clock of this machine.
func (s *Service) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

var errNoClock = errors.New("session: the database was not polled yet")

// clock is the database's clock, as well as this instance knows it.
func (s *Service) clock() (time.Time, error) { return s.clockAt(s.now()) }

// clockAt is what clock is when that of this machine shows at.
func (s *Service) clockAt(at time.Time) (time.Time, error) {
	if s.Known == nil {
		return at, nil
	}
	now, ok := s.Known.ClockAt(at)
	if !ok {
		return time.Time{}, errNoClock
	}
	return now, nil
}

// unsure reports whether the row has to be asked. That is so if the login looks over
// by the policy. It is also so for a use near the end of the idle timeout: written
// behind, the use could reach the row too late, and the login would end although it
// was used in time.
func (s *Service) unsure(got *Session, rule *policy.Expiry, issued, now time.Time, use bool) bool {
	var near time.Duration
	if use {
		near = min(s.Near, rule.Idle/2)
	}
	return rule.Expired(issued, now) || rule.Idled(got.Seen, now.Add(near))
}

// settle lets the row decide about a login that known remembers. A login without a
// row has been replaced more than once. It must not be accepted again from memory
// under a later policy with longer times.
func (s *Service) settle(ctx context.Context, known Session, hash *Hash, used time.Time) (Session, error) {
	got, err := s.Rows.Settle(ctx, known.ID, used)
	if errors.Is(err, ErrNotFound) {
		got, err = known, nil
		got.Ended = Replaced
	}
	if err = held(&got, err, hash); s.Settled != nil && got.ID != 0 && (err == nil || refused(err)) {
		s.Settled(got)
	}
	return got, err
}

// over refuses what is over for good by its ID alone.
func (s *Service) over(id idworker.ID, issued time.Time) error {
	switch {
	case s.Known == nil:
		return nil
	case id <= s.Known.Global():
		return flakepass.ErrRevoked
	case !issued.After(s.Known.Watermark()):
		return flakepass.ErrExpired
	}
	return nil
}

// held returns nil if a store's answer, got or err, is a living session whose token has that hash,
// and else a refusal or what went wrong. It makes got zero, unless the token is its token.
func held(got *Session, err error, hash *Hash) error {
	switch {
	case err == nil && got.Hash.Equal(hash):
		if !got.Alive() {
			return refusedBecause(got, RefusalOf(got.Ended))
		}
		return nil
	case err == nil:
		err = forged(got)
	case errors.Is(err, ErrNotFound):
		err = flakepass.ErrInvalid
	default:
		err = fmt.Errorf("session: verify: %w", err)
	}
	*got = Session{}
	return err
}

func identity(s *Session, issued time.Time, rule *policy.Expiry) flakepass.Identity {
	seen := s.Seen.UTC()
	return flakepass.Identity{
		UserID: flakepass.ID(s.UserID), Username: s.Username, Role: s.Role, SessionID: flakepass.ID(s.ID),
		DeviceClass: s.Device.ClassName(), Act: flakepass.ID(s.Act), AuthMethod: s.AuthMethod(), AuthTime: s.AuthTime(),
		IssuedAt: issued, LastSeenAt: seen,
		ExpiresAt: rule.ExpiresAt(issued), IdleExpiresAt: rule.IdleExpiresAt(issued, seen),
	}
}

// AuthMethod is how the user was authenticated; empty for an impersonation, for which the user was not.
func (s *Session) AuthMethod() string {
	switch {
	case s.Act != 0:
		return ""
	case s.Auth == nil:
		return PasswordMethod
	}
	return s.Auth.Method
}

// AuthTime is when the user was authenticated; zero for an impersonation.
func (s *Session) AuthTime() time.Time {
	switch {
	case s.Act != 0:
		return time.Time{}
	case s.Auth == nil:
		return layout.Time(s.ID)
	}
	return s.Auth.At
}

// refused reports whether err is an answer: the token is not accepted.
func refused(err error) bool {
	_, ok := errors.AsType[*flakepass.Refusal](err)
	return ok
}
