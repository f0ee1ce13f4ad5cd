//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package simulation

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/internal/session/feed"
	"github.com/flakepass/flakepass/internal/session/gatetier"
	"github.com/flakepass/flakepass/internal/session/memtier"
	"github.com/flakepass/flakepass/internal/session/redistier"
)

const (
	bound     = 5 * time.Second
	instances = 3
	people    = 4
	clients   = 6
)

// A world is a deployment, from its first instant to the last.
type world struct {
	t      testing.TB
	seed   uint64
	db     *database
	redis  *shared
	ctx    context.Context //nolint:containedctx // the life of everything here
	end    context.CancelFunc
	all    sync.WaitGroup
	judge  *judge
	places [instances]*place
}

// A place is where an instance runs. It may be started again there.
type place struct {
	number   int
	toDB     *wire
	toRedis  *wire
	instance atomic.Pointer[instance]
}

// An instance is the real thing, over simulated servers.
type instance struct {
	name    string
	service *session.Service
	near    *memtier.Tier
	word    func([]byte)
	db      *link
	stop    func()
}

type mint struct{ *database }

func (m mint) NextAfter(_ context.Context, above idworker.ID) (idworker.ID, error) {
	return m.mint(above), nil
}

func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	// The layout of IDs begins later than a bubble does.
	time.Sleep(time.Until(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)))
	w := &world{t: t, seed: seed, db: newDatabase(seed, people), redis: newShared(seed), judge: newJudge()}
	w.ctx, w.end = context.WithCancel(context.Background())
	for i := range w.places {
		p := &place{number: i, toDB: newWire(seed, uint64(i+1)), toRedis: newWire(seed, uint64(i+101))}
		w.places[i] = p
		w.redis.ears = append(w.redis.ears, func(text []byte) {
			if i := p.instance.Load(); i != nil {
				i.word(text)
			}
		})
		w.start(p, 0)
	}
	return w
}

// start puts the tiers together as the server does.
func (w *world) start(p *place, life int) {
	db := &link{database: w.db, wire: p.toDB}
	i := &instance{name: fmt.Sprintf("%d.%d", p.number, life), db: db}
	ends, err := feed.New(feed.Options{From: db, Bound: bound, Learn: func(n session.News) { i.near.Learn(n) }})
	if err != nil {
		w.t.Fatal(err)
	}
	truth := gatetier.New(db, 4)
	common, err := redistier.NewOver(&sharedLink{w.redis, p.toRedis}, truth, redistier.Options{
		Key: bytes.Repeat([]byte("k"), 32), Bound: bound, Feed: ends,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if i.near, err = memtier.New(common, memtier.Options{Entries: 100, Bound: bound, Feed: ends}); err != nil {
		w.t.Fatal(err)
	}
	i.word = func(text []byte) {
		if s, ok := common.Word(text); ok {
			i.near.Note(s)
		}
	}
	i.service = &session.Service{
		Store: i.near, Truth: truth, Book: db, IDs: mint{w.db}, Policy: policy.Fixed(policy.Default()), Floor: ends, Now: time.Now,
		Accepted: w.judge.witness,
	}
	ctx, stop := context.WithCancel(w.ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = ends.Poll(ctx); ends.Run(ctx) })
	i.stop = func() { stop(); running.Wait(); i.near.Close() }
	p.instance.Store(i)
}

// restart is a kill, and a new life.
func (w *world) restart(p *place, life int) {
	old := p.instance.Load()
	w.start(p, life)
	w.all.Go(func() {
		time.Sleep(10 * time.Second) // what it had begun still happens
		old.stop()
	})
}

// run lets clients and faults loose for that long, then ends the faults, looks
// whether the deployment recovers, and returns what was found wrong.
func (w *world) run(d time.Duration) error {
	busy, stop := context.WithTimeout(w.ctx, d)
	defer stop()
	for c := range clients {
		w.all.Go(func() { w.client(busy, rand.New(rand.NewPCG(w.seed, uint64(c+3000)))) })
	}
	w.all.Go(func() { w.faults(busy, rand.New(rand.NewPCG(w.seed, 4000))) })
	<-busy.Done()
	time.Sleep(15 * time.Second) // what is under way comes to its end; faults are over
	w.recovered()
	w.end()
	for _, p := range w.places {
		p.instance.Load().stop()
	}
	w.all.Wait()
	time.Sleep(time.Minute) // for what still travels
	return w.judge.verdict()
}
