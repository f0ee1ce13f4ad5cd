//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package run

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/layer"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// TestRowOfAReplacedServerIsNotRepeatedPastTheBound: the row is read almost a bound after the last
// poll. The end may be as old as that poll, and the row does not show it.
func TestRowOfAReplacedServerIsNotRepeatedPastTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 5 * time.Second
		db := &replaced{has: 7}
		polls := pollsOf(t, db, bound)
		near := memoryOver(t, layer.NewReadSlots(rowsOf(db, polls), 4), polls, bound)
		for _, after := range []time.Duration{bound - time.Millisecond, bound, 2*bound - 2*time.Millisecond} {
			time.Sleep(after - time.Since(polls.Horizon()))
			if got, err := near.Get(t.Context(), 7, session.Hash{}); (err == nil) != (after < bound) {
				t.Errorf("%v after the last poll that the server took: from %v, %v", after, got.Source, err)
			}
		}
	})
}

// TestReplacedServerDoesNotSayThatThereIsNoSuchLogin: it began on the next server. A login that is
// older than the last poll is none.
func TestReplacedServerDoesNotSayThatThereIsNoSuchLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 30 * time.Second
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // IDs begin later than a bubble
		tokenOf := func(at time.Time) flakepass.Token {
			return flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(at)))
		}
		db := &replaced{}
		polls := pollsOf(t, db, bound)
		truth := layer.NewReadSlots(rowsOf(db, polls), 4)
		s := &session.Service{Store: memoryOver(t, truth, polls, bound), Rows: truth, Writer: db, Policy: policy.Fixed(policy.Default()), Known: polls}
		time.Sleep(bound / 2)
		for _, c := range []struct {
			began time.Time
			none  bool
		}{{time.Now(), false}, {polls.Horizon(), false}, {polls.Horizon().Add(-time.Minute), true}} {
			_, err := s.Verify(t.Context(), tokenOf(c.began))
			_, refused := errors.AsType[*flakepass.Refusal](err)
			if _, failed := s.Close(t.Context(), audit.Actor{}, tokenOf(c.began)); refused != c.none || err == nil || (failed == nil) != c.none {
				t.Errorf("of a login that began %v before the last poll: %v; its logout: %v", polls.Horizon().Sub(c.began), err, failed)
			}
			if _, err := truth.Settle(t.Context(), session.IDOf(tokenOf(c.began)), time.Time{}); errors.Is(err, session.ErrNotFound) != c.none {
				t.Errorf("settled %v before the last poll: %v", polls.Horizon().Sub(c.began), err)
			}
		}
	})
}

// TestTiersKnowThatTheDatabaseMayBeReplaced: only a cluster would show it.
func TestTiersKnowThatTheDatabaseMayBeReplaced(t *testing.T) {
	db, tiers, _, _ := unpolled(t)
	if tiers.memory.Replaceable == nil || !tiers.polled(db)().IsZero() {
		t.Error("one server alone is taken for one of several, or several for one")
	}
}

// A replaced server answers reads with what it had, and takes no poll after the first.
type replaced struct {
	session.Rows
	session.Writer
	has   idworker.ID
	polls int
}

func (r *replaced) Read(_ context.Context, id idworker.ID) (session.Session, session.Basis, error) {
	if id != r.has {
		return session.Session{}, session.Basis{}, session.ErrNotFound
	}
	return session.Session{ID: id, UserID: 1, Seen: time.Now(), AsOf: time.Now()}, session.Basis{Now: time.Now()}, nil
}

func (*replaced) Settle(context.Context, idworker.ID, time.Time) (session.Session, error) {
	return session.Session{}, session.ErrNotFound
}

func (*replaced) End(context.Context, session.Ending) (session.Session, error) {
	return session.Session{}, session.ErrNotFound
}

func (r *replaced) News(context.Context, time.Time, time.Duration) (session.News, error) {
	if r.polls++; r.polls > 1 {
		return session.News{}, errors.New("it cannot commit")
	}
	return session.News{Now: time.Now(), Policy: policy.Default()}, nil
}

// pollsOf has polled once.
func pollsOf(t *testing.T, from feed.Source, bound time.Duration) *feed.Feed {
	t.Helper()
	polls, err := feed.New(feed.Options{From: from, Bound: bound, Learn: func(session.News) {}})
	if err == nil {
		err = polls.Poll(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return polls
}

func rowsOf(db *replaced, polls *feed.Feed) *layer.FreshPolicy {
	return &layer.FreshPolicy{Rows: db, Judged: db, Policy: policy.Fixed(policy.Default()), Proven: polls.Fresh, Polled: polls.Horizon}
}

func memoryOver(t *testing.T, rows session.Rows, polls *feed.Feed, bound time.Duration) *memstore.Sessions {
	t.Helper()
	var replaceable atomic.Bool
	replaceable.Store(true)
	near, err := memstore.NewSessions(rows, memstore.Options{Entries: 10, Bound: bound, Feed: polls, Replaceable: &replaceable})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(near.Close)
	return near
}
