//go:build unix

package sqlstore_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// Who ends all logins on a machine whose clock is ahead does not keep everybody
// out until the others get there: IDs below the floor open nothing. It is the same
// by the verb that the API and the console call.
func TestClockThatIsAheadRaisesNoFloorAboveNow(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ahead := func() time.Time { return time.Now().Add(time.Hour) }
		verb := &operator.Sessions{
			Floor: w.settings(), Counted: w.settings().CountLogins, Policy: policy.Fixed(policy.Default()), IDs: w.ids, Now: ahead, Clock: time.Now,
		}
		for name, end := range map[string]func() (idworker.ID, error){
			"the store": func() (idworker.ID, error) { return w.settings().EndAll(t.Context(), ahead()) },
			"the verb":  func() (idworker.ID, error) { all, err := verb.EndAll(t.Context(), shell, ""); return all.Floor, err },
		} {
			floor, err := end()
			if most := idworker.Default().Smallest(time.Now().Add(time.Minute)); err != nil || floor == 0 || floor > most {
				t.Errorf("%s: the floor is at %v, %v", name, idworker.Default().Time(floor), err)
			}
		}
	})
}
