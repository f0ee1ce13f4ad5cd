//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package remote_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/store/broadcast"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// remoteBound is the revocation bound of every server here.
const remoteBound = 5 * time.Second

// A house is a deployment: a database that is a map, and instances that are the
// real thing. It lives in a synctest bubble.
type house struct {
	t      testing.TB
	truth  *truth
	places []*place
	stop   func()
	limit  limit // of every instance

	mu      sync.Mutex
	service flakepass.Token
}

// mine is the credential of the service, and renewed makes it another.
func (h *house) mine() flakepass.Token { h.mu.Lock(); defer h.mu.Unlock(); return h.service }

func (h *house) renewed() {
	t := h.login("orders", "service")
	h.mu.Lock()
	h.service = t
	h.mu.Unlock()
}

// A place is one instance.
type place struct {
	handler http.Handler
	session *session.Service
	memory  *memstore.Sessions
	news    *broadcast.Hub
	away    atomic.Bool // the database cannot be reached from here
	truth   *truth
}

func newHouse(t testing.TB, instances int) *house {
	t.Helper()
	// The layout of IDs begins later than a bubble does.
	time.Sleep(time.Until(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)))
	h := &house{t: t, truth: &truth{rows: map[idworker.ID]*session.Session{}, rule: policy.Default()}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range instances {
		h.places = append(h.places, h.open(ctx, &running))
	}
	h.stop = func() {
		for _, p := range h.places {
			p.news.Stop()
		}
		cancel()
		running.Wait()
		for _, p := range h.places {
			p.memory.Close()
		}
	}
	h.renewed()
	return h
}

// open puts an instance together as the server does.
func (h *house) open(ctx context.Context, running *sync.WaitGroup) *place {
	p := &place{truth: h.truth}
	rule, err := policy.NewLive(ctx, h.truth)
	if err != nil {
		h.t.Fatal(err)
	}
	ends, err := feed.New(feed.Options{From: p, Bound: remoteBound, Policy: func(_ context.Context, read policy.Policy) { rule.Apply(read) }, Learn: func(n session.News) {
		p.memory.ApplyPoll(n)
		p.news.ApplyPoll(n)
	}})
	if err != nil {
		h.t.Fatal(err)
	}
	p.news = broadcast.New(broadcast.Options{Feed: ends, Policy: rule, Bound: remoteBound, Ring: 1 << 12})
	if p.memory, err = memstore.NewSessions(p, memstore.Options{Entries: 1000, Bound: remoteBound, Feed: ends}); err != nil {
		h.t.Fatal(err)
	}
	p.session = &session.Service{
		Store: &broadcast.Publisher{Store: p.memory, To: p.news}, Rows: p, Policy: rule, Known: ends, Near: remoteBound,
	}
	if p.handler, err = httpapi.New(httpapi.Options{
		Sessions: p.session, Recognition: recognition{p.session, ends}, InForce: rule, News: p.news,
		Bound: remoteBound, Log: slog.New(slog.DiscardHandler), Quota: &h.limit,
	}); err != nil {
		h.t.Fatal(err)
	}
	if err := ends.Poll(ctx); err != nil { // a server answers no request before
		h.t.Fatal(err)
	}
	running.Go(func() { ends.Run(ctx) })
	return p
}

// A limit is a [httpapi.Quota] that lets a service ask about so many tokens at once,
// and about none while it is closed. The zero limit lets all through.
type limit struct {
	most   atomic.Int64 // 0: any number
	closed atomic.Bool
	asked  atomic.Int64 // largest number that was let through
}

func (l *limit) Introspect(_ context.Context, _ idworker.ID, tokens int) error {
	switch most := int(l.most.Load()); {
	case most > 0 && tokens > most:
		return &ratelimit.TooManyError{Limit: "introspect", Most: most}
	case l.closed.Load():
		return &ratelimit.LimitedError{Limit: "introspect", Retry: time.Second, Reset: time.Second}
	}
	l.asked.Store(max(l.asked.Load(), int64(tokens)))
	return nil
}

type recognition struct {
	*session.Service
	feed *feed.Feed
}

func (r recognition) Horizon() time.Time { return r.feed.Horizon() }

func (r recognition) Clock() time.Time {
	if now, ok := r.feed.Clock(); ok {
		return now
	}
	return time.Now()
}

// login begins a login of a new user.
func (h *house) login(name, role string) flakepass.Token {
	h.truth.mu.Lock()
	defer h.truth.mu.Unlock()
	now := time.Now()
	h.truth.count++
	id, err := idworker.Default().Compose(idworker.Parts{Time: now, Worker: 1, Sequence: h.truth.count % 4096})
	if err != nil {
		h.t.Fatal(err)
	}
	token := flakepass.NewToken(flakepass.ID(id))
	h.truth.rows[id] = &session.Session{
		ID: id, UserID: idworker.ID(h.truth.count), Username: name, Role: role, Hash: session.HashOf(token), Seen: now,
	}
	return token
}

// further makes the logins of those tokens one user's, in one slot each.
func (h *house) further(tokens []flakepass.Token) {
	h.truth.mu.Lock()
	defer h.truth.mu.Unlock()
	for i, token := range tokens {
		row := h.truth.rows[session.IDOf(token)]
		row.UserID, row.Slot = 77, session.Slot(i)
	}
}

// several puts a policy in force that allows several sessions a user.
func (h *house) several() {
	h.truth.mu.Lock()
	defer h.truth.mu.Unlock()
	next := h.truth.rule
	next.MaxSessions = 3
	h.truth.rule = h.truth.rule.Succeed(next, time.Now())
}

// logout ends a login at that instance, and notifies the others if notify is true. When
// it returns, it is acknowledged.
func (h *house) logout(token flakepass.Token, at *place, notify bool) {
	h.truth.mu.Lock()
	row := h.truth.rows[session.IDOf(token)]
	now := time.Now()
	row.Ended, row.EndedAt = session.LoggedOut, now.UnixMilli()
	h.truth.ends = append(h.truth.ends, session.End{UserID: row.UserID, Slot: row.Slot, Floor: row.ID, Reason: row.Ended, At: now})
	ended := *row
	h.truth.mu.Unlock()
	_ = at.session.Store.Publish(context.Background(), ended)
	for _, p := range h.places {
		if notify && p != at {
			p.memory.ApplyEnd(ended)
			p.news.ApplyEnd(ended)
		}
	}
}

// rename gives the user of a login another name. When it returns, it is acknowledged.
func (h *house) rename(token flakepass.Token, name string) {
	h.truth.mu.Lock()
	defer h.truth.mu.Unlock()
	row := h.truth.rows[session.IDOf(token)]
	row.Username = name
	h.truth.renames = append(h.truth.renames, session.Rename{UserID: row.UserID, At: time.Now()})
}

// A truth is what the database holds.
type truth struct {
	mu      sync.Mutex
	rows    map[idworker.ID]*session.Session
	ends    []session.End
	renames []session.Rename
	rule    policy.Policy
	floor   idworker.ID
	count   int64
	asked   atomic.Int64
	lost    atomic.Bool // uses that are written behind
}

func (d *truth) LoadPolicy(context.Context) (policy.Policy, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rule, nil
}

// change puts another policy in force.
func (d *truth) change(next policy.Policy) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rule = d.rule.Succeed(next, time.Now())
}

func (d *truth) seen(id idworker.ID) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows[id].Seen
}

var errAway = errors.New("the database is away")

func (p *place) Get(_ context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	if p.away.Load() {
		return session.Session{}, errAway
	}
	asOf := time.Now()
	p.truth.asked.Add(1)
	p.truth.mu.Lock()
	defer p.truth.mu.Unlock()
	row, ok := p.truth.rows[id]
	if !ok {
		return session.Session{}, session.ErrNotFound
	}
	s := *row
	s.AsOf = asOf
	if s.Alive() && id <= p.truth.floor {
		s.Ended = session.Revoked
	}
	return s, nil
}

// Settle decides by the policy of the moment, and writes the use.
func (p *place) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	s, err := p.Get(ctx, id, session.Hash{})
	if err != nil || !s.Alive() {
		return s, err
	}
	p.truth.mu.Lock()
	defer p.truth.mu.Unlock()
	row, now := p.truth.rows[id], time.Now()
	switch {
	case row.Expiry(&p.truth.rule).Expired(idworker.Default().Time(id), now):
		s.Ended = session.Expired
	case row.Expiry(&p.truth.rule).Idled(row.Seen, now):
		s.Ended = session.Idle
	case used.Sub(row.Seen) >= row.Expiry(&p.truth.rule).Touch:
		row.Seen = used
	}
	s.Seen = row.Seen
	return s, nil
}

// Touch writes at once what an instance writes within a second or so.
func (p *place) Touch(_ context.Context, id idworker.ID, seen time.Time) error {
	if p.truth.lost.Load() {
		return nil
	}
	p.truth.mu.Lock()
	row, ok := p.truth.rows[id]
	var now time.Time // zero if the row refuses the use
	if ok && row.Alive() && !p.truth.rule.For(row.Device.ClassName(), row.Role).Idled(row.Seen, time.Now()) {
		if seen.Sub(row.Seen) >= p.truth.rule.For(row.Device.ClassName(), row.Role).Touch {
			row.Seen = seen
		}
		now = row.Seen
	}
	p.truth.mu.Unlock()
	p.memory.Written(id, now)
	return nil
}

func (p *place) Publish(context.Context, ...session.Session) error { return nil }

func (p *place) News(_ context.Context, since time.Time, _ time.Duration) (session.News, error) {
	if p.away.Load() {
		return session.News{}, errAway
	}
	p.truth.mu.Lock()
	defer p.truth.mu.Unlock()
	news := session.News{Now: time.Now(), Global: p.truth.floor, Policy: p.truth.rule, Steady: true}
	for _, e := range p.truth.ends {
		if !e.At.Before(since) {
			news.Ends = append(news.Ends, e)
		}
	}
	for _, r := range p.truth.renames {
		if !r.At.Before(since) {
			news.Renames = append(news.Renames, r)
		}
	}
	return news, nil
}

// remote is a Remote over that network, which runs until the house is left.
func (h *house) remote(n *network, edit func(*flakepass.RemoteOptions)) *flakepass.Remote {
	h.t.Helper()
	r, end := h.remoteAlone(n, edit)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	stop := h.stop
	h.stop = func() { cancel(); running.Wait(); end(); stop() }
	return r
}

// remoteAlone is a Remote whose Run is not called.
func (h *house) remoteAlone(n *network, edit func(*flakepass.RemoteOptions)) (_ *flakepass.Remote, end func()) {
	h.t.Helper()
	o := flakepass.RemoteOptions{
		URL: "http://auth.test", Client: &http.Client{Transport: n},
		Credential: func(context.Context) (flakepass.Token, error) { return h.mine(), nil },
	}
	if edit != nil {
		edit(&o)
	}
	r, err := flakepass.NewRemote(o)
	if err != nil {
		h.t.Fatal(err)
	}
	return r, r.Close
}

// good fails the test unless the token is accepted.
func (h *house) good(v flakepass.Verifier, t flakepass.Token) flakepass.Identity {
	h.t.Helper()
	who, err := v.Verify(context.Background(), t)
	if err != nil {
		h.t.Fatalf("refused or undecided: %v", err)
	}
	return who
}

// bad fails the test unless the token is refused with that error.
func (h *house) bad(v flakepass.Verifier, t flakepass.Token, want error) {
	h.t.Helper()
	if _, err := v.Verify(context.Background(), t); !errors.Is(err, want) {
		h.t.Fatalf("got %v, want %v", err, want)
	}
}

func (h *house) people(n int) []flakepass.Token {
	all := make([]flakepass.Token, n)
	for i := range all {
		all[i] = h.login(fmt.Sprintf("person.%d", i), "user")
	}
	return all
}
