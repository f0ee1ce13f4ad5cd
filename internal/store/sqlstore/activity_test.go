//go:build unix

package sqlstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// Instances add to what is there at once, also to a row of the same name, and
// none of it is lost.
func TestActivityAddsUp(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := &sqlstore.Activity{DB: w.DB}
		const rounds = 5
		atOnce(6, func(i int) {
			for range rounds {
				err := a.Add(t.Context(), strconv.Itoa(i%3), []activity.Count{{Hour: start, Kind: activity.Login, N: 2}, {Hour: start.Add(time.Hour), Kind: activity.Logout, N: 1}})
				if err != nil {
					t.Error(err)
				}
			}
		})
		got, err := a.Since(t.Context(), start)
		want := []activity.Count{{Hour: start, Kind: activity.Login, N: 60}, {Hour: start.Add(time.Hour), Kind: activity.Logout, N: 30}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got\n%s", err, diff)
		}
		if err := a.Prune(t.Context(), start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got, err := a.Since(t.Context(), time.Time{}); err != nil || len(got) != 1 || got[0].Kind != activity.Logout {
			t.Errorf("after pruning: %v, %v", got, err)
		}
		if err := a.Add(t.Context(), "0", nil); err != nil {
			t.Error(err)
		}
	})
}
