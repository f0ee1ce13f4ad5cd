package memstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// owner is the user of all sessions here.
const owner = 1000

func alive(id idworker.ID) session.Session {
	return session.Session{ID: id, UserID: owner, Username: "ada", Role: "user", Seen: time.Now(), AsOf: time.Now()}
}

func gone(id idworker.ID, why session.Reason) session.Session {
	s := alive(id)
	s.Ended = why
	return s
}

func open(t *testing.T, next session.Store) *memstore.Sessions {
	t.Helper()
	return openWith(t, next, memstore.Options{Entries: 100, Bound: bound})
}

func openWith(t *testing.T, next session.Store, o memstore.Options) *memstore.Sessions {
	t.Helper()
	tier, err := memstore.NewSessions(next, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tier.Close)
	return tier
}

func mustBe(t *testing.T, tier *memstore.Sessions, id idworker.ID, why session.Reason) {
	t.Helper()
	if got, err := tier.Get(t.Context(), id, session.Hash{}); err != nil || got.Ended != why || got.ID != id {
		t.Errorf("Get of %v: %v, ended %q, error %v; want ended %q", id, got.ID, got.Ended, err, why)
	}
}

// A fake is the next tier: it answers what it is told to, reading before it
// waits, as a database does whose answer is long on its way.
type fake struct {
	get func(call int) (session.Session, error) // if set, answers

	mu      sync.Mutex
	hold    chan struct{}
	of      map[idworker.ID]session.Session
	err     error
	gets    int
	touches int
}

func (f *fake) set(s session.Session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[idworker.ID]session.Session{}
	}
	f.of[s.ID] = s
}

func (f *fake) holdBack(c chan struct{}) { f.mu.Lock(); f.hold = c; f.mu.Unlock() }
func (f *fake) fail(err error)           { f.mu.Lock(); f.err = err; f.mu.Unlock() }
func (f *fake) asked() int               { f.mu.Lock(); defer f.mu.Unlock(); return f.gets }
func (f *fake) touched() int             { f.mu.Lock(); defer f.mu.Unlock(); return f.touches }

func (f *fake) Get(ctx context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	f.mu.Lock()
	f.gets++
	call, hold, err := f.gets, f.hold, f.err
	s, ok := f.of[id]
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return session.Session{}, ctx.Err()
		}
	}
	switch {
	case err != nil:
		return session.Session{}, err
	case f.get != nil:
		return f.get(call)
	case !ok:
		return session.Session{}, session.ErrNotFound
	}
	return s, nil
}

func (f *fake) Touch(context.Context, idworker.ID, time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.touches++
	return nil
}

func (f *fake) Publish(context.Context, ...session.Session) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
