package scale

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// An instance is what a server has of the deployment.
type instance struct {
	sessions *sqlstore.Sessions
	settings *sqlstore.Settings
}

func (d *deployment) instance(t testing.TB) instance {
	t.Helper()
	db := d.open(t)
	return instance{&sqlstore.Sessions{DB: db}, &sqlstore.Settings{DB: db}}
}

// A reader is a store that is not written to: what is measured here is not writes.
type reader struct{ session.Store }

// Touch does nothing.
func (reader) Touch(context.Context, idworker.ID, time.Time) error { return nil }

// floor ends every login with one row, and checks that an instance which
// believed them all refuses them all, without a read.
func (d *deployment) floor(t testing.TB) {
	t.Helper()
	i := d.instance(t)
	rule, err := policy.NewLive(t.Context(), i.settings)
	must(t, err)
	ends, err := feed.New(feed.Options{
		From: i.sessions, Policy: rule.Follow(slog.New(slog.DiscardHandler)), Learn: func(session.News) {}, Bound: bound,
	})
	must(t, err)
	memory, err := memstore.NewSessions(reader{i.sessions}, memstore.Options{Entries: 2 * sampled, Bound: bound, Feed: ends})
	must(t, err)
	service := &session.Service{Store: memory, Rows: i.sessions, Policy: rule, Known: ends}
	must(t, ends.Poll(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { ends.Run(ctx) })
	defer func() { cancel(); running.Wait() }()

	var one flakepass.Token
	for _, token := range d.tokens {
		if _, err := service.Verify(t.Context(), token); err != nil {
			t.Fatalf("before the floor: %v", err)
		}
		one = token
	}
	if len(d.tokens) != sampled {
		t.Fatalf("%d tokens, want %d", len(d.tokens), sampled)
	}
	living := d.alive(t)

	start := time.Now()
	floor, err := d.settings.EndAll(t.Context(), time.Now())
	took := time.Since(start)
	must(t, err)
	d.mustGoBy(t, "SELECT global_floor, slots FROM settings", "const", "PRIMARY")
	testenv.Eventually(t, time.Minute, func() bool { _, err := service.Verify(t.Context(), one); return err != nil }, "the instance knows the floor")
	d.number("global floor: living logins that it ends", float64(living), "")
	d.time("global floor: the write", took)
	d.time("global floor: until an instance refuses, bound 5 s", time.Since(start))
	if ends.Global() != floor {
		t.Errorf("the instance knows the floor %v, want %v", ends.Global(), floor)
	}

	cancel() // from here on, nothing is asked but by Verify
	running.Wait()
	before, _ := d.asked(t)
	var refusals stopwatch
	for _, token := range d.tokens {
		begun := time.Now()
		if _, err := service.Verify(t.Context(), token); !errors.Is(err, flakepass.ErrRevoked) {
			t.Fatalf("after the floor: %v, want a revoked token", err)
		}
		refusals.note(time.Since(begun), nil)
	}
	if after, _ := d.asked(t); after != before {
		t.Errorf("%d refused tokens asked the database %d questions, want none", sampled, after-before)
	}
	total := time.Duration(0)
	for _, each := range refusals.took {
		total += each
	}
	d.number("global floor: time of a refusal, mean", float64(total.Nanoseconds())/sampled, "ns")
	d.behind(t, living)
}

// behind sweeps what the floor has ended: for a minute in a big test, and a few
// batches in a small one.
func (d *deployment) behind(t testing.TB, living int) {
	t.Helper()
	start, cleared := time.Now(), 0
	if d.big {
		cleared = d.pass(t, living, start.Add(time.Minute))
	} else {
		cleared = d.pass(t, 5_000, start.Add(time.Minute))
		d.mustGoBy(t, "SELECT id, token_id, token_id AS value, ", "range", "users_token_id")
	}
	took := time.Since(start)
	if left := d.alive(t); living-left != cleared || cleared == 0 || !d.big && cleared != 5_000 {
		t.Errorf("behind the floor the sweep says that it cleared %d of %d logins, and left %d", cleared, living, left)
	}
	d.number("global floor: rows cleared per second behind it", float64(cleared)/took.Seconds(), "/s")
}
