package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/policy"
)

// A Service begins, recognises and ends logins. Set the fields once, before
// use. It is a [flakepass.Verifier].
type Service struct {
	// Store is asked about sessions, and told of endings: the nearest tier.
	Store Store
	// Truth is the Store behind all tiers.
	Truth Store
	// Book is where sessions begin and end.
	Book Book
	// IDs mints the numbers of sessions.
	IDs Minter
	// Policy says when a session is over.
	Policy interface{ Current() *policy.Policy }
	// Floor, if set, is the ID at and below which every session is over.
	Floor interface{ Global() idworker.ID }
	// Now tells the time.
	Now func() time.Time
	// Accepted, if set, hears of every accept. It must not block.
	Accepted func(Witness)
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
	var token flakepass.Token
	begun, err := s.Book.Begin(ctx, Opening{
		UserID: user, PasswordVersion: passwordVersion, Seen: s.Now(),
		Mint: func(ctx context.Context, above idworker.ID) (idworker.ID, Hash, error) {
			id := ready
			ready = 0 // once: if it is tried again, the ID may have been to blame
			if id <= above {
				var err error
				if id, err = s.IDs.NextAfter(ctx, above); err != nil {
					return 0, Hash{}, err
				}
			}
			token = flakepass.NewToken(id)
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
	if was := OverBefore(begun.Replaced, s.Policy.Current(), s.Now()); !was.Before && was.Ended == Replaced {
		opened.Replaced = was.ID
	}
	return opened, nil
}

// Verify says who holds t. The error is a [*flakepass.Refusal] if nobody does,
// and anything else if the answer could not be found out.
//
// A token that is too old, or at or below the global floor, is refused with no
// I/O, for its own ID proves it. A token whose session is idle by what a cache
// remembers is refused only after the truth was asked: another instance may
// have seen it since.
//
// A passive ctx (see [flakepass.NewPassiveContext]) gets the same verdict and
// leaves the login as it is: no use is noted. What a cache remembers of the last
// use may then be older than the touch interval, where the uses went to other
// instances; about the last seconds the truth is asked.
func (s *Service) Verify(ctx context.Context, t flakepass.Token) (flakepass.Identity, error) {
	who, _, err := s.Examine(ctx, t)
	return who, err
}

// Examine is [Service.Verify], and says what the accept relies on.
func (s *Service) Examine(ctx context.Context, t flakepass.Token) (flakepass.Identity, Witness, error) {
	now, id := s.Now(), t.ID()
	issued := layout.Time(id)
	if err := s.over(id, issued, now); err != nil {
		return flakepass.Identity{}, Witness{}, err
	}
	hash := HashOf(t)
	got, err := s.ask(ctx, s.Store, id, &hash)
	// Once more, for the answer relies on what this instance knows now: rules
	// and floors at least as new as the horizon that the answer was given by.
	if err == nil {
		err = s.over(id, issued, now)
	}
	if err != nil {
		return flakepass.Identity{}, Witness{}, err
	}
	rule := s.Policy.Current()
	if rule.Idled(got.Seen, now.Add(nearEnd)) {
		if got, err = s.lastCall(ctx, &got, &hash, rule, now); err != nil {
			return flakepass.Identity{}, Witness{}, err
		}
	}
	reliesOn := Witness{ID: id, At: now, Source: got.Source, AsOf: got.AsOf, Horizon: got.Horizon}
	if s.Accepted != nil {
		s.Accepted(reliesOn)
	}
	if now.Sub(got.Seen) >= rule.Touch && !flakepass.IsPassive(ctx) {
		// Nobody waits for a touch, and a lost one costs no answer.
		_ = s.Store.Touch(ctx, id, now)
		got.Seen = now
	}
	return identity(&got, issued, rule), reliesOn, nil
}

// nearEnd is how long before the end of its idle timeout the truth is asked
// about a login: longer than a write behind may take.
const nearEnd = 5 * time.Second

// lastCall asks the truth about a login that is idle, or nearly so, by what got
// remembers: another instance may have seen it since, or a sweep cleared it.
// While it is not idle its use is written at once; written behind, it could come
// too late, and the login would be over although it was used in time. A passive
// request is no use, and only asks.
func (s *Service) lastCall(ctx context.Context, got *Session, hash *Hash, rule *policy.Policy, now time.Time) (Session, error) {
	if !rule.Idled(got.Seen, now) && !flakepass.IsPassive(ctx) {
		_ = s.Truth.Touch(ctx, got.ID, now) // whether it came in time, the answer says
	}
	truth, err := s.ask(ctx, s.Truth, got.ID, hash)
	switch {
	case err != nil:
		return truth, err
	case rule.Idled(truth.Seen, now):
		return truth, refusedBecause(&truth, flakepass.ErrIdle)
	}
	_ = s.Store.Touch(ctx, got.ID, truth.Seen) // so that the nearer stores know
	return truth, nil
}

// over refuses what is over by the rules alone.
func (s *Service) over(id idworker.ID, issued, now time.Time) error {
	switch {
	case s.Policy.Current().Expired(issued, now):
		return flakepass.ErrExpired
	case s.Floor != nil && id <= s.Floor.Global():
		return flakepass.ErrRevoked
	}
	return nil
}

// ask gets a living session whose token has that hash, or a refusal.
func (s *Service) ask(ctx context.Context, from Store, id idworker.ID, hash *Hash) (Session, error) {
	got, err := from.Get(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return got, flakepass.ErrInvalid
	case err != nil:
		return got, fmt.Errorf("session: verify: %w", err)
	case !got.Hash.Equal(hash):
		return got, forged(&got)
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
	if s.Policy.Current().Expired(layout.Time(t.ID()), s.Now()) {
		return Session{}, nil
	}
	hash := HashOf(t)
	ended, err := end(ctx, Ending{ID: t.ID(), Hash: hash, Reason: why})
	if errors.Is(err, ErrNotFound) {
		return s.bury(ctx, t.ID(), &hash)
	}
	if err == nil {
		// Also when it had ended before: the one who ended it may have died
		// between writing it and telling it.
		err = s.Store.Hear(ctx, ended)
	}
	if err != nil {
		return ended, fmt.Errorf("session: close: %w", err)
	}
	return OverBefore(ended, s.Policy.Current(), s.Now()), nil
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
		UserID: s.UserID, Username: s.Username, Role: s.Role, SessionID: s.ID,
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
