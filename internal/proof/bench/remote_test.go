package bench

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/store/broadcast"
	"github.com/flakepass/flakepass/internal/store/feed"
)

// BenchmarkGuard is a whole request but for the network: a guard before a handler
// that does nothing, with a token that memory knows. The other side only checks
// a JWT.
func BenchmarkGuard(b *testing.B) {
	service, behind, texts := warm(b)
	guardBeforeNothing(b, service, behind, texts)
}

// BenchmarkGuardRemote is BenchmarkGuard with a Remote that knows every token.
func BenchmarkGuardRemote(b *testing.B) {
	remote, behind, texts := warmRemote(b)
	guardBeforeNothing(b, remote, behind, texts)
}

func guardBeforeNothing(b *testing.B, v flakepass.Verifier, behind *ledger, texts []string) {
	b.Helper()
	signer := newJWTCheck()
	jwts := signer.sign(b, behind.sessions, time.Now().Add(time.Hour))
	served := 0
	guard := &flakepass.Guard{Verifier: v}
	h := guard.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	w, asks := httptest.NewRecorder(), requests(b, texts)
	reportChecks(b, "golang-jwt HS256",
		func(i int) { h.ServeHTTP(w, asks[i%logins]) },
		func(i int) {
			if _, err := signer.check(jwts[i%logins]); err != nil {
				b.Fatal(err)
			}
		})
	if served == 0 || w.Code != http.StatusOK {
		b.Fatal(w.Body)
	}
}

// BenchmarkRemote compares the check of a token that a Remote remembers with the
// check of a JWT, as BenchmarkVerify does for one that the server remembers.
func BenchmarkRemote(b *testing.B) {
	remote, behind, texts := warmRemote(b)
	signer := newJWTCheck()
	jwts := signer.sign(b, behind.sessions, time.Now().Add(time.Hour))
	reportChecks(b, "golang-jwt HS256",
		func(i int) {
			if _, err := check(remote, texts[i%logins]); err != nil {
				b.Fatal(err)
			}
		},
		func(i int) {
			if _, err := signer.check(jwts[i%logins]); err != nil {
				b.Fatal(err)
			}
		})
}

// BenchmarkRemoteOrServer compares the two directly.
func BenchmarkRemoteOrServer(b *testing.B) {
	remote, _, texts := warmRemote(b)
	service, _, others := warm(b)
	reportChecks(b, "the server's own memory",
		func(i int) {
			if _, err := check(remote, texts[i%logins]); err != nil {
				b.Fatal(err)
			}
		},
		func(i int) {
			if _, err := check(service, others[i%logins]); err != nil {
				b.Fatal(err)
			}
		})
}

// TestRemoteAllocatesNothing: what is remembered costs the garbage collector
// nothing.
func TestRemoteAllocatesNothing(t *testing.T) {
	remote, _, texts := warmRemote(t)
	if got := testing.AllocsPerRun(1000, func() { _, _ = check(remote, texts[7]) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

// recognition is what the server's endpoint asks.
type recognition struct {
	*session.Service
	feed *feed.Feed
}

func (r recognition) Horizon() time.Time { return r.feed.Horizon() }

func (r recognition) Clock() time.Time {
	now, _ := r.feed.Clock() // it was polled before
	return now
}

// warmRemote is a Remote that remembers every session of the ledger, and that
// follows a server on this machine until the benchmark is over.
func warmRemote(tb testing.TB) (*flakepass.Remote, *ledger, []string) {
	tb.Helper()
	service, behind, texts := warm(tb)
	own, row := mint(tb, time.Now().Add(-time.Hour), logins)
	row.Role = "service"
	behind.sessions[row.ID] = row
	ends, rule := fed(tb, behind), policy.Fixed(hourly())
	hub := broadcast.New(broadcast.Options{Feed: ends, Policy: rule, Bound: bound})
	handler, err := httpapi.New(httpapi.Options{
		Sessions: service, Recognition: recognition{service, ends}, InForce: rule, News: hub, Bound: bound, Log: slog.New(slog.DiscardHandler),
		Quota: &ratelimit.Limiter{Limits: func() *limit.Limits { return &limit.Limits{} }}, // none
	})
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(handler)
	remote, err := flakepass.NewRemote(flakepass.RemoteOptions{
		URL: server.URL, Credential: func(context.Context) (flakepass.Token, error) { return own, nil },
	})
	if err != nil {
		tb.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	running.Go(func() { remote.Run(ctx) })
	tb.Cleanup(func() { cancel(); running.Wait(); remote.Close(); hub.Stop(); server.Close() })
	var all sync.WaitGroup
	for _, text := range texts {
		all.Go(func() {
			if _, err := check(remote, text); err != nil {
				tb.Error(err)
			}
		})
	}
	all.Wait()
	return remote, behind, texts
}
