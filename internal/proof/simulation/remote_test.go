//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package simulation

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/store/broadcast"
)

// serve gives an instance what a Remote asks: the real handler.
func (w *world) serve(i *instance) {
	i.news = broadcast.New(broadcast.Options{Feed: i.feed, Policy: i.rule, Bound: w.bound, Ring: 1 << 10})
	i.service.Store = &broadcast.Publisher{Store: i.service.Store, To: i.news}
	var err error
	i.handler, err = httpapi.New(httpapi.Options{
		Sessions: caller{i.service, w.mine}, Recognition: recognition{i}, InForce: i.rule, News: i.news, Quota: open{}, Bound: w.bound,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// caller knows the login of the service with the Remote, which never ends.
type caller struct {
	*session.Service
	mine flakepass.Token
}

func (c caller) Verify(ctx context.Context, t flakepass.Token) (flakepass.Identity, error) {
	if t.ID() == c.mine.ID() {
		return flakepass.Identity{UserID: 1 << 40, Username: "orders", Role: "service", SessionID: t.ID()}, nil
	}
	return c.Service.Verify(ctx, t)
}

type recognition struct{ *instance }

func (r recognition) Examine(ctx context.Context, t flakepass.Token) (flakepass.Identity, session.Accept, error) {
	return r.service.Examine(ctx, t)
}

func (r recognition) Used(ctx context.Context, u session.Use) (bool, error) {
	return r.service.Used(ctx, u)
}
func (r recognition) Horizon() time.Time { return r.feed.Horizon() }
func (r recognition) Clock() time.Time {
	now, ok := r.feed.Clock()
	if !ok {
		return time.Now()
	}
	return now
}

// open is a rate limiter that lets all questions through.
type open struct{}

func (open) Introspect(context.Context, idworker.ID, int) error { return nil }

// follow starts a Remote in front of a place.
func (w *world) follow(p *place) {
	w.network = &network{to: p, r: rand.New(rand.NewPCG(w.seed, 6000)), cutter: make(chan struct{})}
	var err error
	w.remote, err = flakepass.NewRemote(flakepass.RemoteOptions{
		URL: "http://auth.test", Client: &http.Client{Transport: w.network},
		Credential: func(context.Context) (flakepass.Token, error) { return w.mine, nil },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.all.Go(func() { w.remote.Run(w.ctx) })
}

const remoteName = "the Remote"

// askRemote is what the service with the Remote is answered.
func (w *world) askRemote(l *login, passive bool) answer {
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	defer cancel()
	if passive {
		ctx = flakepass.NewPassiveContext(ctx)
	}
	a := answer{by: remoteName, asked: time.Now(), passive: passive}
	a.who, a.err = w.remote.Verify(ctx, l.token)
	return a
}

// A network carries the calls of a Remote to an instance.
type network struct {
	to *place

	mu     sync.Mutex
	r      *rand.Rand
	down   bool
	slow   time.Duration
	cutter chan struct{} // closed when the streams are cut
}

// trouble cuts streams, and may keep new calls from getting through.
func (n *network) trouble(down bool, slow time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down, n.slow = down, slow
	close(n.cutter)
	n.cutter = make(chan struct{})
}

func (n *network) way() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(50_000 + n.r.Int64N(2_000_000) + n.r.Int64N(int64(n.slow)+1))
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(n.way())
	i := n.to.instance.Load()
	n.mu.Lock()
	down, cutter := n.down, n.cutter
	n.mu.Unlock()
	if down || i.db.wire.dead.Load() {
		return nil, errCut
	}
	ctx, cancel := context.WithCancel(r.Context())
	b := &body{n: n, header: http.Header{}, ready: make(chan struct{}), parts: make(chan part, 1<<12), cutter: cutter, gone: i.gone, cancel: cancel, ctx: ctx}
	r = r.Clone(ctx)
	r.RequestURI = r.URL.Path
	if r.Body == nil {
		r.Body = http.NoBody
	}
	go func() {
		defer close(b.parts)
		i.handler.ServeHTTP(b, r)
		b.WriteHeader(http.StatusOK)
	}()
	select {
	case <-b.ready:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	time.Sleep(n.way())
	return &http.Response{
		StatusCode: b.status, Header: b.sent, Body: b, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}, nil
}

// A body is an answer on its way.
type body struct {
	n      *network
	header http.Header
	sent   http.Header
	status int
	once   sync.Once
	ready  chan struct{}
	parts  chan part
	rest   []byte
	cutter chan struct{}
	gone   chan struct{} // closed when the instance is
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // of one exchange
}

type part struct {
	text []byte
	at   time.Time // when it arrives
}

func (b *body) Header() http.Header { return b.header }

func (b *body) WriteHeader(status int) {
	b.once.Do(func() { b.status, b.sent = status, maps.Clone(b.header); close(b.ready) })
}

func (b *body) Write(text []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	select {
	case b.parts <- part{slices.Clone(text), time.Now().Add(b.n.way())}:
		return len(text), nil
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (*body) Flush()                           {}
func (*body) SetWriteDeadline(time.Time) error { return nil }
func (*body) SetReadDeadline(time.Time) error  { return nil }

func (b *body) Read(into []byte) (int, error) {
	if len(b.rest) == 0 {
		select {
		case p, ok := <-b.parts:
			if !ok {
				return 0, io.EOF
			}
			b.rest = p.text
			time.Sleep(time.Until(p.at))
		case <-b.cutter:
			return 0, io.ErrUnexpectedEOF
		case <-b.gone:
			return 0, io.ErrUnexpectedEOF
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
	n := copy(into, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error { b.cancel(); return nil }
