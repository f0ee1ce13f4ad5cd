//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package run

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// lent is a worker whose lender answers, fails, or does not answer.
type lent func(context.Context) (idworker.ID, error)

func (l lent) Next(ctx context.Context) (idworker.ID, error) { return l(ctx) }

// A logout is done and on record although no lender answers.
func TestEventsNeedNoLender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))) // IDs begin later than a bubble
		for name, worker := range map[string]lent{
			"refuses": func(context.Context) (idworker.ID, error) { return 0, idworker.ErrNoGrant },
			"hangs":   func(ctx context.Context) (idworker.ID, error) { <-ctx.Done(); return 0, ctx.Err() },
		} {
			begin := time.Now()
			id, err := (&eventIDs{worker: worker, log: slog.New(slog.DiscardHandler)}).Next(t.Context())
			if at := idworker.Default().Time(id); err != nil || at.Sub(begin).Abs() > time.Second {
				t.Errorf("the lender %s: ID of %v, %v", name, at, err)
			}
			if took := time.Since(begin); took > eventPatience {
				t.Errorf("the lender %s: the event waited %v", name, took)
			}
		}
		if id, err := (&eventIDs{worker: lent(func(context.Context) (idworker.ID, error) { return 7, nil }), log: slog.New(slog.DiscardHandler)}).Next(t.Context()); id != 7 || err != nil {
			t.Errorf("with a lender: %v, %v", id, err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := (&eventIDs{worker: lent(func(ctx context.Context) (idworker.ID, error) { return 0, ctx.Err() }), log: slog.New(slog.DiscardHandler)}).Next(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("of a request that has ended: %v", err)
		}
	})
}
