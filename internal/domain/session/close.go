package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// Close ends the login that t opens, for its holder, and returns it, as
// [Writer].End does and [OverBefore] corrects. If there is none of which t is the
// token it succeeds, changes nothing, and returns a Session whose ID is 0; a caller
// who may not know does not learn the difference. An error wrapping [ErrUnpublished]
// means: ended, and effective everywhere within the bound.
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
	// The database is asked whatever is known here: that a login was over already
	// is a promise about all other instances, too.
	hash := HashOf(t)
	ended, err := s.Writer.End(ctx, Ending{ID: IDOf(t), Hash: hash, Reason: why, Record: r})
	if errors.Is(err, ErrNotFound) {
		return s.endCached(ctx, IDOf(t), &hash)
	}
	if err == nil {
		// Also when it had ended before: the one who ended it may have died
		// between writing it and telling it.
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

// endCached ends a session that only a cache still holds: the database has forgotten
// it, because its user had two others since. A client that has got the answer that it is over must
// not find it alive here. It returns the session, if there was such a one.
func (s *Service) endCached(ctx context.Context, id idworker.ID, hash *Hash) (Session, error) {
	cached, err := s.Store.Get(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return Session{}, nil
	case err != nil:
		return Session{}, fmt.Errorf("session: close: %w", err)
	case !cached.Hash.Equal(hash) || !cached.Alive():
		return Session{}, nil
	}
	cached.Ended, cached.Before = Replaced, true
	if err := s.Store.Publish(ctx, cached); err != nil {
		return cached, fmt.Errorf("session: close: %w", err)
	}
	return cached, nil
}
