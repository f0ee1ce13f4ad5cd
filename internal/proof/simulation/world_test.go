//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package simulation

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/broadcast"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/layer"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// A world is a deployment, from its first instant to the last.
type world struct {
	plan
	rules
	t      testing.TB
	db     *database
	redis  *shared
	ctx    context.Context //nolint:containedctx // the life of everything here
	end    context.CancelFunc
	all    sync.WaitGroup
	judge  *judge
	places []*place
	lists  int // logins that were on lists

	// If there is a Remote.
	mine    flakepass.Token
	remote  *flakepass.Remote
	network *network
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
	rules
	name    string
	service *session.Service
	near    *memstore.Sessions
	rule    *policy.Live
	feed    *feed.Feed
	word    func([]byte)
	db      *link
	cancel  context.CancelFunc
	stop    func()
	gone    chan struct{} // closed when it is stopped or killed

	// If there is a Remote.
	news    *broadcast.Hub
	handler http.Handler
}

type mint struct{ *link }

func (m mint) NextAfter(_ context.Context, above idworker.ID) (idworker.ID, error) {
	return m.mint(above, max(min(m.skew, second), -second)), nil
}

func newWorld(t testing.TB, p plan, without rule) *world {
	t.Helper()
	// The layout of IDs begins later than a bubble does.
	time.Sleep(time.Until(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)))
	w := &world{plan: p, rules: rules{without}, t: t, db: newDatabase(p, without), redis: newShared(p.seed)}
	w.judge = newJudge(p, w.db)
	w.mine = flakepass.NewToken(1 << 61)
	w.ctx, w.end = context.WithCancel(context.Background())
	for i := range p.instances {
		place := &place{number: i, toDB: newWire(p.seed, uint64(i+1)), toRedis: newWire(p.seed, uint64(i+101))}
		w.places = append(w.places, place)
		w.redis.ears = append(w.redis.ears, func(text []byte) {
			if i := place.instance.Load(); i != nil {
				i.word(text)
			}
		})
		w.start(place, 0)
		time.Sleep(time.Duration(1_234_567 * (i + 1))) // so that they do not poll at the same instants
	}
	return w
}

// start puts the tiers together as the server does.
func (w *world) start(p *place, life int) {
	ctx, stop := context.WithCancel(w.ctx)
	db := &link{database: w.db, wire: p.toDB, skew: w.skew[p.number]}
	i := &instance{rules: w.rules, name: fmt.Sprintf("%d.%d", p.number, life), db: db, cancel: stop, gone: make(chan struct{})}
	must := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	var err error
	i.rule, err = policy.NewLive(ctx, &started{link: db})
	must(err)
	i.feed, err = feed.New(feed.Options{
		From: db, Policy: i.rule.Follow(slog.New(slog.DiscardHandler)), Bound: w.bound, Now: db.clock,
		Learn: i.learn,
	})
	must(err)
	var rows session.Rows = &layer.FreshPolicy{Rows: db, Judged: db, Policy: i.rule, Clock: i.feed, Now: db.clock}
	if !w.has(oneRead) {
		rows = db
	}
	truth := layer.NewReadSlots(rows, 4)
	touches := layer.NewWriteBehind(truth, layer.WriteBehindOptions{To: db, Policy: i.rule, Written: i.written, Log: slog.New(slog.DiscardHandler)})
	var behind session.Store = touches
	doubt := func() {}
	if w.plan.redis {
		common, err := redisstore.NewSessionsOver(&sharedLink{w.redis, p.toRedis}, touches, redisstore.Options{
			Key: bytes.Repeat([]byte("k"), 32), Bound: w.bound, Feed: i.feed, Now: db.clock,
		})
		must(err)
		behind, doubt = common, common.Doubt
		i.word = func(text []byte) {
			if s, ok := common.DecodeEnd(text); ok {
				i.note(s)
			}
		}
	} else {
		i.word = func([]byte) {}
	}
	i.near, err = memstore.NewSessions(behind, memstore.Options{Entries: 100, Bound: w.bound, Feed: i.feed, Now: db.clock})
	must(err)
	if w.has(doubtLower) {
		i.rule.Lowered = func() { i.near.Doubt(); doubt() }
		if !i.rule.Current().LoweredAt.IsZero() {
			i.rule.Lowered()
		}
	}
	i.service = &session.Service{
		Store: i.near, Rows: truth, Writer: db, IDs: mint{db}, EventIDs: eventIDs{mint{db}}, Rights: rights{}, Policy: i.rule, Known: i.feed, Now: db.clock,
		Near: w.bound + 5*second, Settled: i.settled,
		Accepted: func(a session.Accept) { w.judge.relied(a, db.clock()) },
	}
	i.takeOut()
	if w.plan.remote && p.number == 0 {
		w.serve(i)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = i.feed.Poll(ctx); i.feed.Run(ctx) })
	running.Go(func() { touches.Run(ctx, second) })
	i.stop = func() {
		if i.news != nil {
			i.news.Stop()
		}
		stop()
		running.Wait()
		i.near.Close()
	}
	p.instance.Store(i)
}

// started is what a server reads its first policy from: it starts again until it
// has one.
type started struct {
	*link
	done atomic.Bool
}

func (s *started) LoadPolicy(ctx context.Context) (policy.Policy, error) {
	if s.done.Swap(true) {
		return s.link.LoadPolicy(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy, nil
}

// written and settled are as the server has them.
func (i *instance) written(id idworker.ID, seen time.Time) {
	if i.has(rowLeads) || !seen.IsZero() {
		i.near.Written(id, seen)
	}
}

func (i *instance) settled(s session.Session) {
	if s.Alive() {
		i.written(s.ID, s.Seen)
	} else {
		i.note(s)
	}
}

func (i *instance) note(ended session.Session) {
	i.near.ApplyEnd(ended)
	if i.news != nil {
		i.news.ApplyEnd(ended)
	}
}

func (i *instance) learn(n session.News) {
	if !i.has(ownSlot) {
		n.Ends = ofAllSlots(n.Ends)
	}
	i.near.ApplyPoll(n)
	if i.news != nil {
		i.news.ApplyPoll(n)
	}
}

// restart is a new life in place of one that was stopped, or killed: nothing that
// a killed one asks reaches a server.
func (w *world) restart(p *place, life int, kill bool) {
	old := p.instance.Load()
	if kill {
		old.db.wire.dead.Store(true)
		p.toDB = newWire(w.seed, uint64(1000*life+p.number))
		p.toRedis = newWire(w.seed, uint64(1000*life+p.number+101))
	}
	w.start(p, life)
	close(old.gone)
	old.cancel()
	w.all.Go(func() {
		time.Sleep(10 * second) // what it had begun still happens
		old.stop()
	})
}

// run lets clients and faults loose, then ends the faults, looks whether all say
// one story and the deployment recovers, and returns what was found wrong.
func (w *world) run() error {
	w.db.set(w.mood)
	w.places[0].toDB.set(w.worst)
	busy, stop := context.WithTimeout(w.ctx, w.span)
	defer stop()
	if w.plan.remote {
		w.follow(w.places[0])
	}
	random := func(n int) *rand.Rand { return rand.New(rand.NewPCG(w.seed, uint64(n))) }
	for c := range w.clients {
		w.all.Go(func() { w.client(busy, random(3000+c)) })
	}
	if w.changes > 0 {
		w.all.Go(func() { w.operator(busy, random(4001)) })
	}
	if w.sweeps > 0 {
		w.all.Go(func() { w.sweeper(busy, random(4002)) })
	}
	w.all.Go(func() { w.faults(busy, random(4000)) })
	<-busy.Done()
	w.settle()
	// A list ends what is too many of its users, as a sweep does, so whatever comes first
	// hides that the other one does not.
	if w.seed%2 == 0 {
		w.listed()
	}
	w.reduced()
	w.oneStory()
	w.listed()
	w.recovered()
	w.listed()
	if w.remote != nil {
		w.remote.Close()
	}
	w.end()
	for _, p := range w.places {
		p.instance.Load().stop()
	}
	w.all.Wait()
	time.Sleep(2 * time.Minute) // for what still travels
	return w.judge.verdict()
}

// settle waits until nothing is under way, and for two bounds more.
func (w *world) settle() {
	for quiet := 0; quiet < 10; quiet++ {
		time.Sleep(500 * time.Millisecond)
		w.db.mu.Lock()
		if w.db.busy > 0 {
			quiet = 0
		}
		w.db.mu.Unlock()
	}
	time.Sleep(2 * w.bound)
}
