package bench

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// logins is how many people are logged in where the answers come from memory.
const logins = 1000

// A ledger is the store behind the tiers: sessions in a map that no code
// changes. It counts how often it is asked.
type ledger struct {
	sessions map[idworker.ID]session.Session
	asked    atomic.Int64
}

func (l *ledger) Get(_ context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	l.asked.Add(1)
	s, ok := l.sessions[id]
	if !ok {
		return s, session.ErrNotFound
	}
	s.AsOf = time.Now()
	return s, nil
}

// Settle is Get: no login is near its end.
func (l *ledger) Settle(ctx context.Context, id idworker.ID, _ time.Time) (session.Session, error) {
	return l.Get(ctx, id, session.Hash{})
}

func (l *ledger) Touch(context.Context, idworker.ID, time.Time) error { return nil }
func (l *ledger) Publish(context.Context, ...session.Session) error   { return nil }

func (l *ledger) News(context.Context, time.Time, time.Duration) (session.News, error) {
	return session.News{Now: time.Now(), Policy: hourly(), Steady: true}, nil
}

// mint makes the token of the i-th session that began at that time, and the
// session that it opens.
func mint(tb testing.TB, at time.Time, i int) (flakepass.Token, session.Session) {
	tb.Helper()
	// Below 4096 the sequence is enough; beyond it the time moves on.
	id, err := idworker.Default().Compose(idworker.Parts{
		Time: at.Add(time.Duration(i>>12) * time.Millisecond), Worker: 1023, Sequence: int64(i & 0xfff),
	})
	if err != nil {
		tb.Fatal(err)
	}
	t := flakepass.NewToken(flakepass.ID(id))
	return t, session.Session{
		ID: id, UserID: id - 1, Username: fmt.Sprintf("person.%06d", i), Role: "user",
		Hash: session.HashOf(t), Seen: time.Now(),
	}
}

// warm is a service whose memory holds every session of the ledger, and the
// texts of their tokens. Nothing is forgotten while a benchmark runs.
func warm(tb testing.TB) (*session.Service, *ledger, []string) {
	tb.Helper()
	return warmBy(tb, hourly(), func(*session.Session, int) {})
}

// warmDevices is warm with five sessions a user, each on a device of another class, and a
// policy with overrides for two classes and a role.
func warmDevices(tb testing.TB) (*session.Service, *ledger, []string) {
	tb.Helper()
	rule := hourly()
	next := rule
	next.MaxSessions = 5
	for _, s := range []policy.Scope{{Class: "phone"}, {Class: "web"}, {Role: "admin"}} {
		next.Overrides = append(next.Overrides, policy.Override{Scope: s, Absolute: 20 * 24 * time.Hour})
	}
	classes := policy.DefaultClasses()
	return warmBy(tb, rule.Succeed(next, time.Unix(0, 0)), func(s *session.Session, i int) {
		slot := i % 5
		s.UserID, s.Slot, s.Device = idworker.ID(1+i/5), session.Slot(slot), session.DeviceOf(classes[slot], "")
	})
}

// warmBy is warm under that policy, with sessions that are set further.
func warmBy(tb testing.TB, rule policy.Policy, set func(s *session.Session, i int)) (*session.Service, *ledger, []string) {
	tb.Helper()
	behind := &ledger{sessions: make(map[idworker.ID]session.Session)}
	texts := make([]string, logins)
	for i := range texts {
		t, s := mint(tb, time.Now().Add(-time.Hour), i)
		set(&s, i)
		behind.sessions[s.ID], texts[i] = s, t.Reveal()
	}
	ends := fed(tb, behind)
	near, err := memstore.NewSessions(behind, memstore.Options{Entries: 10 * logins, Bound: bound, Feed: ends})
	if err != nil {
		tb.Fatal(err)
	}
	service := &session.Service{
		Store: near, Rows: behind, Policy: policy.Fixed(rule), Known: ends, Near: bound, Accepted: counting(),
	}
	for _, text := range texts {
		if _, err := check(service, text); err != nil {
			tb.Fatal(err)
		}
	}
	return service, behind, texts
}

// bound is so short that answers soon rely on the feed, which costs more than to
// rely on their own age. Where nothing is measured it is long, so that a machine
// that stands still for a while forgets nothing.
var bound = testenv.Brief(time.Second, time.Minute)

// fed is a feed that polls until the benchmark is over.
func fed(tb testing.TB, from feed.Source) *feed.Feed {
	tb.Helper()
	f, err := feed.New(feed.Options{From: from, Learn: func(session.News) {}, Bound: bound})
	if err != nil {
		tb.Fatal(err)
	}
	if err := f.Poll(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	running.Go(func() { f.Run(ctx) })
	tb.Cleanup(func() { cancel(); running.Wait() })
	return f
}

// counting counts accepts as the server does.
func counting() func(session.Accept) {
	metrics := telemetry.NewMetrics("bench")
	count := metrics.Accepts(session.FromMemory.String())
	var n atomic.Uint64
	return func(w session.Accept) {
		count.Add(1)
		if n.Add(1)%64 == 0 {
			metrics.AcceptAge(session.Age(w.At, w.AsOf))
		}
	}
}

// hourly is the default policy, but no login is touched while a benchmark runs.
func hourly() policy.Policy {
	p := policy.Default()
	p.Touch = time.Hour
	return p
}

// check is what a guard does with the text of a token.
func check(v flakepass.Verifier, text string) (flakepass.Identity, error) {
	t, err := flakepass.ParseToken(text)
	if err != nil {
		return flakepass.Identity{}, err
	}
	return v.Verify(context.Background(), t)
}

// requests are one GET for each credential.
func requests(tb testing.TB, credentials []string) []*http.Request {
	tb.Helper()
	all := make([]*http.Request, len(credentials))
	for i, credential := range credentials {
		r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "/v1/me", nil)
		if err != nil {
			tb.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+credential)
		all[i] = r
	}
	return all
}
