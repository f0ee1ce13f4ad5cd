package servicekey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// read asks the row, and remembers what it says. That there is no such key is not
// remembered: otherwise a key that was made a moment ago could be refused.
func (s *Service) read(ctx context.Context, id idworker.ID) (*entry, error) {
	got, err := s.Rows.Find(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, flakepass.ErrKeyInvalid
	}
	if err != nil {
		return nil, fmt.Errorf("servicekey: verify: %w", err)
	}
	e := &entry{Held: got}
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.known[id]; held == nil || !held.AsOf.After(got.AsOf) {
		s.known[id] = e
	}
	return e, nil
}

// used has a key asked about ahead of time, if it is past half of its life or if this is
// its first use within the hour. It does not wait.
func (s *Service) used(e *entry) {
	if session.Age(time.Now(), e.AsOf) < s.Life/2 && !s.unnoted(&e.Held) || !e.due.CompareAndSwap(false, true) {
		return
	}
	select {
	case s.ahead <- e:
	default:
		e.due.Store(false) // enough are under way; there is time
	}
}

// noteAgain is how long no use of any key is noted after a note has failed. Otherwise each use
// would ask a database that takes no writes once more.
const noteAgain = time.Minute

// unnoted reports whether the row does not say yet that the key was used in this hour, and
// should.
func (s *Service) unnoted(got *Held) bool {
	hour, ok := s.hour()
	return ok && got.UsedAt.Before(hour) && session.Age(time.Now(), time.UnixMilli(s.noted.Load())) >= noteAgain
}

func (s *Service) hour() (time.Time, bool) {
	now, ok := s.Clock()
	return now.UTC().Truncate(time.Hour), ok
}

// Run asks about the keys that are in use ahead of time, and notes when they were used
// last, until ctx ends. What fails is tried again at the next use, a note at the next one after a minute.
func (s *Service) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for range renewers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case e := <-s.ahead:
					s.renew(ctx, e)
				}
			}
		})
	}
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.drop()
		}
	}
}

func (s *Service) renew(ctx context.Context, e *entry) {
	fresh, err := s.read(ctx, e.ID)
	if err == nil && s.unnoted(&fresh.Held) && fresh.RevokedAt.IsZero() {
		hour, _ := s.hour()
		if s.Rows.Used(ctx, e.ID, hour) == nil {
			_, err = s.read(ctx, e.ID)
		} else {
			s.noted.Store(time.Now().UnixMilli())
		}
	}
	if err != nil {
		e.due.Store(false)
	}
}

// drop forgets keys that were not asked about for lapse.
func (s *Service) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, e := range s.known {
		if session.Age(time.Now(), e.AsOf) >= lapse {
			delete(s.known, id)
		}
	}
}

// Forget forgets what is remembered of a key, so that the next use asks the row: a key that an
// operator ends here ends here at once. A read that is under way may still be remembered. It is
// repeated only for [Options.Life] after its own as-of.
func (s *Service) Forget(id idworker.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}
