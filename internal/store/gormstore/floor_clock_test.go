//go:build unix

package gormstore_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// Who ends all logins on a machine whose clock is ahead does not keep everybody
// out until the others get there: IDs below the floor open nothing.
func TestClockThatIsAheadRaisesNoFloorAboveNow(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		floor, err := w.settings().EndAll(t.Context(), time.Now().Add(time.Hour))
		if most := idworker.Default().Smallest(time.Now().Add(time.Minute)); err != nil || floor == 0 || floor > most {
			t.Errorf("the floor is at %v, %v", idworker.Default().Time(floor), err)
		}
	})
}
