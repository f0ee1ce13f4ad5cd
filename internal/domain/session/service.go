package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A Service begins, recognises and ends logins. Set the fields once, before
// use. It is a [flakepass.Verifier].
type Service struct {
	// Store is asked about sessions, and told of endings: the nearest tier.
	Store Store
	// Rows are behind all tiers.
	Rows Rows
	// Book is where sessions begin and end.
	Book Book
	// IDs mints the numbers of sessions.
	IDs Minter
	// Policy says when a session is over.
	Policy interface{ Current() *policy.Policy }
	// Known, if set, is what this instance has heard of the database. Without it
	// the clock is that of this machine, and nothing is over but what the rows say.
	Known Known
	// Near is how long before the end of its idle timeout a use is written before
	// it is answered: longer than the bound and than a write behind may take. At
	// most half of the idle timeout is used.
	Near time.Duration
	// Now tells the time if there is no Known.
	Now func() time.Time
	// Settled, if set, hears of every session about which the rows have decided:
	// it lives, and was last used then, or it is over. It must not block.
	Settled func(Session)
	// Accepted, if set, hears of every accept. It must not block.
	Accepted func(Witness)
}

// Known is what an instance has heard of the database.
type Known interface {
	// Global is the ID at and below which every session is over.
	Global() idworker.ID
	// Watermark is the time at and before which every session that was issued is
	// too old, whatever the policy becomes.
	Watermark() time.Time
	// Clock is the database's clock, or false if it was never read.
	Clock() (time.Time, bool)
}

// A Witness says what an accept relied on: who answered, as of when the
// database had been read for it, and, if that was not enough, the horizon up to
// which every end was known.
type Witness struct {
	ID      idworker.ID
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

// Opened is a new login: the only place where its token exists.
type Opened struct {
	Token    flakepass.Token
	Identity flakepass.Identity
	Replaced idworker.ID // the login that ended for it; 0 if none lived
}

// Open begins a login of that user, whose password in that version was
// checked, and ends the one before.
func (s *Service) Open(ctx context.Context, user idworker.ID, passwordVersion int64) (Opened, error) {
	// Minted before the row is locked. A worker whose range has run out asks the
	// database for another, and would wait there for the connection, or in SQLite
	// for the write lock, that a Begin waiting for its ID holds.
	ready, err := s.IDs.NextAfter(ctx, 0)
	if err != nil {
		return Opened{}, fmt.Errorf("session: open: %w", err)
	}
	now, err := s.clock()
	if err != nil {
		return Opened{}, fmt.Errorf("session: open: %w", err)
	}
	var token flakepass.Token
	begun, err := s.Book.Begin(ctx, Opening{
		UserID: user, PasswordVersion: passwordVersion, Seen: now,
		Mint: func(ctx context.Context, above idworker.ID) (idworker.ID, Hash, error) {
			id := ready
			ready = 0 // once: if it is tried again, the ID may have been to blame
			if id <= above {
				var err error
				if id, err = s.IDs.NextAfter(ctx, above); err != nil {
					return 0, Hash{}, err
				}
			}
			token = flakepass.NewToken(flakepass.ID(id))
			return id, HashOf(token), nil
		},
	})
	if err != nil {
		return Opened{}, fmt.Errorf("session: open: %w", err)
	}
	if begun.Replaced.ID != 0 {
		// The new login stands, whoever could be told; the old one is over
		// everywhere within the bound.
		_ = s.Store.Hear(ctx, begun.Replaced)
	}
	opened := Opened{Token: token, Identity: identity(&begun.Session, layout.Time(begun.Session.ID), s.Policy.Current())}
	if was := OverBefore(begun.Replaced, s.Policy.Current(), now); !was.Before && was.Ended == Replaced {
		opened.Replaced = was.ID
	}
	return opened, nil
}

// Verify says who holds t. The error is a [*flakepass.Refusal] if nobody does,
// and anything else if the answer could not be found out.
//
// Two refusals need no I/O, for the token's own ID proves them for good: it is
// at or below the global floor, or it was issued at or before the watermark that a
// poll has proven. Whatever else looks over by the policy is settled by its row:
// what this instance knows of the policy and of uses may be as old as the bound,
// and a refusal must stay true.
//
// A passive ctx (see [flakepass.NewPassiveContext]) gets the same verdict and
// leaves the login as it is: no use is noted.
func (s *Service) Verify(ctx context.Context, t flakepass.Token) (flakepass.Identity, error) {
	who, _, err := s.Examine(ctx, t)
	return who, err
}

// Examine is [Service.Verify], and says what the accept relies on.
func (s *Service) Examine(ctx context.Context, t flakepass.Token) (flakepass.Identity, Witness, error) {
	began, id := s.now(), IDOf(t)
	issued := layout.Time(id)
	if err := s.over(id, issued); err != nil {
		return flakepass.Identity{}, Witness{}, err
	}
	hash := HashOf(t)
	got, err := s.ask(ctx, id, &hash)
	// Once more, for the answer relies on what this instance knows now: rules
	// and floors at least as new as the horizon that the answer was given by.
	if err == nil {
		err = s.over(id, issued)
	}
	if err != nil {
		return flakepass.Identity{}, Witness{}, err
	}
	now, err := s.clock()
	if err != nil {
		return flakepass.Identity{}, Witness{}, err
	}
	rule := s.Policy.Current()
	used := now
	if flakepass.IsPassive(ctx) {
		used = time.Time{}
	}
	if s.unsure(&got, rule, issued, now, !used.IsZero()) {
		if got, err = s.settle(ctx, got, &hash, used); err != nil {
			return flakepass.Identity{}, Witness{}, err
		}
	} else if !used.IsZero() && now.Sub(got.Seen) >= rule.Touch {
		// Nobody waits for this, and nothing was promised for it: the answer tells
		// what follows from the row.
		_ = s.Store.Touch(ctx, id, used)
	}
	reliesOn := Witness{ID: id, At: began, Source: got.Source, AsOf: got.AsOf, Horizon: got.Horizon}
	if s.Accepted != nil {
		s.Accepted(reliesOn)
	}
	return identity(&got, issued, rule), reliesOn, nil
}

// now is the clock of this machine.
func (s *Service) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

var errNoClock = errors.New("session: the database was not heard of yet")

// clock is the database's clock, as well as this instance knows it.
func (s *Service) clock() (time.Time, error) {
	if s.Known == nil {
		return s.now(), nil
	}
	now, ok := s.Known.Clock()
	if !ok {
		return time.Time{}, errNoClock
	}
	return now, nil
}

// unsure reports whether the row has to be asked: if a login looks over by the
// policy; or if it is used so near to the end of its idle timeout that the use must
// be on the row before it is answered. Written behind, it could come too late, and
// the login would be over although it was used in time.
func (s *Service) unsure(got *Session, rule *policy.Policy, issued, now time.Time, use bool) bool {
	if use {
		return rule.Expired(issued, now) || rule.Idled(got.Seen, now.Add(min(s.Near, rule.Idle/2)))
	}
	return rule.Expired(issued, now) || rule.Idled(got.Seen, now)
}

// settle lets the row decide about a login that known remembers. One that no row
// knows any more has been replaced more than once: what is remembered must not
// answer again, should a longer policy come.
func (s *Service) settle(ctx context.Context, known Session, hash *Hash, used time.Time) (Session, error) {
	got, err := s.Rows.Settle(ctx, known.ID, used)
	if errors.Is(err, ErrNotFound) {
		got, err = known, nil
		got.Ended = Replaced
	}
	if got, err = held(got, err, hash); s.Settled != nil && got.ID != 0 && (err == nil || refused(err)) {
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

// ask gets a living session whose token has that hash, or a refusal.
func (s *Service) ask(ctx context.Context, id idworker.ID, hash *Hash) (Session, error) {
	got, err := s.Store.Get(ctx, id)
	return held(got, err, hash)
}

// held is a living session whose token has that hash, or a refusal. What is
// returned beside a refusal is zero, unless the token is of that session.
func held(got Session, err error, hash *Hash) (Session, error) {
	switch {
	case errors.Is(err, ErrNotFound):
		return Session{}, flakepass.ErrInvalid
	case err != nil:
		return Session{}, fmt.Errorf("session: verify: %w", err)
	case !got.Hash.Equal(hash):
		return Session{}, forged(&got)
	case !got.Alive():
		return got, refusedBecause(&got, RefusalOf(got.Ended))
	}
	return got, nil
}

// Close ends the login that t opens and returns it, as [Book].End does and
// [OverBefore] corrects. If there is none of which t is the token it succeeds, changes nothing, and returns a
// Session whose ID is 0; a caller who may not know does not learn the
// difference. An error wrapping [ErrUntold] means: ended, and effective
// everywhere within the bound.
func (s *Service) Close(ctx context.Context, t flakepass.Token) (Session, error) {
	return s.CloseAs(ctx, t, LoggedOut, s.Book.End)
}

// CloseAs is Close for another reason, and with end in place of the book's End,
// whose promises it keeps: for whoever writes a record together with the end.
func (s *Service) CloseAs(ctx context.Context, t flakepass.Token, why Reason,
	end func(context.Context, Ending) (Session, error)) (Session, error) {
	if t.IsZero() {
		return Session{}, nil
	}
	// The database is asked whatever is known here: that a login was over already
	// is a promise about all other instances, too.
	hash := HashOf(t)
	ended, err := end(ctx, Ending{ID: IDOf(t), Hash: hash, Reason: why})
	if errors.Is(err, ErrNotFound) {
		return s.bury(ctx, IDOf(t), &hash)
	}
	if err == nil {
		// Also when it had ended before: the one who ended it may have died
		// between writing it and telling it.
		err = s.Store.Hear(ctx, ended)
	}
	if err != nil {
		return ended, fmt.Errorf("session: close: %w", err)
	}
	now, err := s.clock()
	if err != nil {
		return ended, nil //nolint:nilerr // it has ended, and only how it is called depends on the clock
	}
	return OverBefore(ended, s.Policy.Current(), now), nil
}

// OverBefore is what [Book].End returned, with the policy's word on it. A book
// keeps no deadlines, and ends for good what had expired or was idle since.
func OverBefore(ended Session, rule *policy.Policy, now time.Time) Session {
	switch {
	case ended.ID == 0 || ended.Before:
	case rule.Expired(layout.Time(ended.ID), now):
		ended.Before, ended.Ended = true, Expired
	case rule.Idled(ended.Seen, now):
		ended.Before, ended.Ended = true, Idle
	}
	return ended
}

// bury ends what only a memory still believes: a login that the book has
// forgotten, because its user had two others since. Whoever was told that it is
// over must not find it alive here. It returns the login, if there was such a
// one.
func (s *Service) bury(ctx context.Context, id idworker.ID, hash *Hash) (Session, error) {
	ghost, err := s.Store.Get(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return Session{}, nil
	case err != nil:
		return Session{}, fmt.Errorf("session: close: %w", err)
	case !ghost.Hash.Equal(hash) || !ghost.Alive():
		return Session{}, nil
	}
	ghost.Ended, ghost.Before = Replaced, true
	if err := s.Store.Hear(ctx, ghost); err != nil {
		return ghost, fmt.Errorf("session: close: %w", err)
	}
	return ghost, nil
}

func identity(s *Session, issued time.Time, rule *policy.Policy) flakepass.Identity {
	seen := s.Seen.UTC()
	return flakepass.Identity{
		UserID: flakepass.ID(s.UserID), Username: s.Username, Role: s.Role, SessionID: flakepass.ID(s.ID),
		IssuedAt: issued, LastSeenAt: seen,
		ExpiresAt: rule.ExpiresAt(issued), IdleExpiresAt: rule.IdleExpiresAt(issued, seen),
	}
}

// RefusalOf is what the token of a session is told that ended so.
func RefusalOf(why Reason) *flakepass.Refusal {
	switch why {
	case LoggedOut:
		return flakepass.ErrLoggedOut
	case Replaced:
		return flakepass.ErrReplaced
	case Disabled:
		return flakepass.ErrAccountDisabled
	case Expired:
		return flakepass.ErrExpired
	case Idle:
		return flakepass.ErrIdle
	default:
		return flakepass.ErrRevoked
	}
}

// refused reports whether err is an answer: nobody.
func refused(err error) bool {
	_, ok := errors.AsType[*flakepass.Refusal](err)
	return ok
}
