package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// Close ends the login that t opens, for its holder, and returns it, as
// [Writer].End does and [OverBefore] corrects. If t is the
// token of no login, Close succeeds, changes nothing, and returns a Session whose ID is
// 0, so that a caller without the token learns nothing. An error wrapping
// [ErrUnpublished] means that the login has ended, and that the end is effective
// everywhere within the bound.
func (s *Service) Close(ctx context.Context, by audit.Actor, t flakepass.Token) (Session, error) {
	if !s.Recorded {
		return s.close(ctx, t, LoggedOut, nil)
	}
	return s.close(ctx, t, LoggedOut, &Record{By: by, Need: audit.NeedsNothing})
}

// Revoke is Close by a service that was shown the token. It is always on record, as
// the act of by; the holder sees that the login was revoked.
func (s *Service) Revoke(ctx context.Context, by audit.Actor, t flakepass.Token) (Session, error) {
	return s.close(ctx, t, Revoked, &Record{By: by, Need: audit.NeedsService, Reason: RevokedReason})
}

func (s *Service) close(ctx context.Context, t flakepass.Token, why Reason, r *Record) (Session, error) {
	if t.IsZero() {
		return Session{}, nil
	}
	if err := s.complete(ctx, r); err != nil {
		return Session{}, fmt.Errorf("session: close: %w", err)
	}
	// The database is always asked, also about a login that is known to be over here:
	// the answer is a promise about all other instances, too.
	hash := HashOf(t)
	ended, err := s.Writer.End(ctx, Ending{ID: IDOf(t), Hash: hash, Reason: why, Record: r})
	if errors.Is(err, ErrNotFound) {
		return s.endCached(ctx, IDOf(t), &hash)
	}
	if err == nil {
		// Also if it had ended before: the instance that ended it may have stopped
		// between the write and the message.
		err = s.Store.Publish(ctx, ended)
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

// complete sets what the event of an end needs, if there is to be one.
func (s *Service) complete(ctx context.Context, r *Record) (err error) {
	if r == nil {
		return nil
	}
	r.Policy = s.Policy.Current()
	if r.Now, err = s.clock(); err != nil {
		r.Now = s.now() // a logout does not wait for the first poll
	}
	r.ID, err = s.EventIDs.Next(ctx)
	return err
}

// endCached ends a session that only a cache still holds: the database keeps no trace
// of it after two later logins of the user. After the answer says that it is over, no
// request may find it alive here. It returns the session, if there was one.
func (s *Service) endCached(ctx context.Context, id idworker.ID, hash *Hash) (Session, error) {
	cached, err := s.Store.Get(ctx, id, *hash)
	switch {
	case errors.Is(err, ErrNotFound):
		return Session{}, nil
	case err != nil:
		return Session{}, fmt.Errorf("session: close: %w", err)
	case !cached.Hash.Equal(hash) || !cached.Alive():
		return Session{}, nil
	}
	// No cache has answered that the rows have no trace of it, and End does not ask whether the
	// server decides that.
	if _, err := s.Rows.Get(ctx, id, *hash); !errors.Is(err, ErrNotFound) {
		return Session{}, fmt.Errorf("session: close: %w", cmp.Or(err, errThere))
	}
	cached.Ended, cached.Before = Replaced, true
	if err := s.Store.Publish(ctx, cached); err != nil {
		return cached, fmt.Errorf("session: close: %w", err)
	}
	return cached, nil
}

var errThere = errors.New("the rows have the session that they did not have just now")

// RefusalOf is the refusal for the token of a session that ended so.
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
