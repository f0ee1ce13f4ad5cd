package redisstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/sessiontest"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// masterKilled kills a master while people log in, ask and log out on two
// instances.
func (g *group) masterKilled(t *testing.T) {
	truth := &sessiontest.Memory{}
	var log testenv.Journal
	here, _ := g.open(t, truth, func(o *redisstore.Options) { o.Log = logger(&log) })
	there, _ := g.open(t, truth)
	next := &fake{}
	one, _ := g.open(t, next)
	silent, _ := g.open(t, &fake{})
	box := listenTo(t, silent)
	received(t, box, one, 50_000)

	// Of these, all servers know before one of them is lost.
	victim := g.owner(redisstore.KeyOf(60_000))
	var buried []idworker.ID
	for id := idworker.ID(60_000); len(buried) < 3; id++ {
		if g.owner(redisstore.KeyOf(id)) == victim {
			g.share(t, one, next, silent, id)
			if err := one.Publish(t.Context(), gone(id, session.LoggedOut)); err != nil {
				t.Fatal(err)
			}
			buried = append(buried, id)
		}
	}
	victim.AwaitCopies(g.copies)

	w := &people{truth: truth, over: map[idworker.ID]time.Time{}}
	w.live(t, here, there, func(enough func()) {
		enough()
		victim.Kill()
		g.await()
		enough()
	})

	for _, id := range buried {
		ended(t, silent, id, session.LoggedOut)
	}
	received(t, box, one, 70_000)
	g.share(t, one, next, silent, 71_000, 71_001, 71_002, 71_003, 71_004, 71_005)
	t.Logf("%d questions, %d ends of which Redis was not told %d; the breaker opened %d times",
		w.asked, len(w.over), w.unpublished, log.Count("does not answer"))
	victim.Start()
	g.await()
}

// allKilled kills everything that keeps sessions, and starts it again.
func (g *group) allKilled(t *testing.T) {
	var log testenv.Journal
	next := &fake{}
	one, _ := g.open(t, next, func(o *redisstore.Options) { o.Log = logger(&log) })
	silent, _ := g.open(t, &fake{})
	box := listenTo(t, silent)
	received(t, box, one, 80_000)
	for _, r := range g.servers {
		r.Kill()
	}
	for id := idworker.ID(81_000); id < 81_010; id++ {
		next.set(alive(id))
		mustGet(t, one, id, "")
	}
	if log.Count("does not answer") == 0 {
		t.Error("requests go on asking a Redis that is gone")
	}
	if err := one.Publish(t.Context(), gone(81_000, session.LoggedOut)); !errors.Is(err, session.ErrUnpublished) {
		t.Errorf("Publish: %v, want ErrUnpublished", err)
	}
	mustGet(t, one, 81_000, session.LoggedOut)
	for _, r := range g.servers {
		r.Start()
	}
	g.share(t, one, next, silent, 82_000, 82_001, 82_002, 82_003)
	received(t, box, one, 83_000)
	g.await()
}

// people log in, ask and log out, and know what the answer must be.
type people struct {
	truth *sessiontest.Memory

	mu          sync.Mutex
	ids         []idworker.ID
	over        map[idworker.ID]time.Time // zero while the end is under way
	asked       int
	unpublished int
}

// live lets them do so for as long as story runs, on two instances. Of the first
// there is also the memory in front. enough returns when each has gone through
// some more.
func (w *people) live(t *testing.T, here, there *redisstore.Sessions, story func(enough func())) {
	t.Helper()
	near, err := memstore.NewSessions(here, memstore.Options{Entries: 10_000, Bound: bound})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var living sync.WaitGroup
	defer living.Wait()
	defer cancel()
	// As fast as the servers need some of the processor too.
	again := func(do func()) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			do()
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
	for range 2 {
		living.Go(func() { again(func() { w.life(t, near) }) })
	}
	for _, instance := range []session.Store{here, there, near} {
		living.Go(func() { again(func() { w.ask(t, instance) }) })
	}
	story(func() {
		ends, asked := w.count()
		testenv.Eventually(t, soon, func() bool {
			e, a := w.count()
			return e >= ends+20 && a >= asked+200
		}, "people are served")
	})
}

// life is a login, a question or two, and a logout.
func (w *people) life(t *testing.T, near session.Store) {
	ctx := t.Context()
	user, _ := w.truth.AddUser(t)
	id := idworker.Default().Smallest(time.Now()) + user%(1<<22)
	begun, err := w.truth.Begin(ctx, session.Opening{
		ID: id, Hash: hashOf(id), UserID: user, PasswordVersion: 1, Seen: time.Now(),
	})
	if err != nil {
		t.Errorf("Begin: %v", err)
		return
	}
	w.mu.Lock()
	w.ids = append(w.ids, id)
	w.mu.Unlock()
	if got, err := near.Get(ctx, id, hashOf(id)); err != nil || !got.Alive() {
		t.Errorf("a new session: ended %q, error %v", got.Ended, err)
	}

	w.set(id, time.Time{})
	s, err := w.truth.End(ctx, session.Ending{ID: id, Hash: begun.Session.Hash, Reason: session.LoggedOut})
	if err != nil {
		t.Errorf("End: %v", err)
		return
	}
	w.set(id, time.Now())
	if err := near.Publish(ctx, s); errors.Is(err, session.ErrUnpublished) {
		w.mu.Lock()
		w.unpublished++
		w.mu.Unlock()
	} else if err != nil {
		t.Errorf("Publish: %v", err)
	}
	// Who answered the logout accepts the session never again.
	if got, err := near.Get(ctx, id, hashOf(id)); err != nil || got.Alive() {
		t.Errorf("after the logout: ended %q, error %v", got.Ended, err)
	}
}

// ask asks for anybody's session. An instance that did not hear of its end may
// say "alive" for as long as the bound, and never with an as-of after the end.
func (w *people) ask(t *testing.T, instance session.Store) {
	w.mu.Lock()
	if len(w.ids) == 0 {
		w.mu.Unlock()
		return
	}
	newest := max(0, len(w.ids)-50)
	id := w.ids[newest+rand.IntN(len(w.ids)-newest)]
	w.asked++
	w.mu.Unlock()
	got, err := instance.Get(t.Context(), id, hashOf(id))
	if err != nil {
		t.Errorf("session %v: %v", id, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	end, ending := w.over[id]
	if !got.Alive() && !ending {
		t.Errorf("session %v: ended %q, and nobody has ended it", id, got.Ended)
	}
	if got.Alive() && !end.IsZero() && got.AsOf.After(end) {
		t.Errorf("session %v: alive as of %v after its end", id, got.AsOf.Sub(end))
	}
}

func (w *people) set(id idworker.ID, end time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over[id] = end
}

func (w *people) count() (ends, asked int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.over), w.asked
}
