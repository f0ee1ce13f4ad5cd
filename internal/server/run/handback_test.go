//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package run

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A still lender has lent a number, and answers nothing since.
type still struct{ idworker.Lender }

func (still) Acquire(_ context.Context, window time.Duration) (idworker.Grant, error) {
	return idworker.Grant{Token: "t", From: time.Now(), Until: time.Now().Add(window)}, nil
}

func (still) Release(ctx context.Context, _ idworker.Grant, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestALenderThatStandsStillHoldsUpNoEnd: a command whose act was done waited 17
// seconds for a ZooKeeper of one server.
func TestALenderThatStandsStillHoldsUpNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))) // IDs begin later than a bubble
		w, err := idworker.Open(t.Context(), still{}, idworker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := HandBack(t.Context(), w); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("handed back: %v", err)
		}
	})
}
