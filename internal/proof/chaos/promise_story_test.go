//go:build unix

package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestAUseThatTheRowDoesNotTakeIsForgotten: an instance accepts logins, and has not
// read yet that the policy is shorter, by which their rows are idle. Another one has
// answered so. Twice the bound after the first can read again, all answers are what
// the row says, and the row says what was answered.
func TestAUseThatTheRowDoesNotTakeIsForgotten(t *testing.T) {
	onShared(t, 2, func(t *testing.T, w *world) {
		here, there := w.instances[0], w.instances[1]
		admin := w.admin(t)
		logins := w.logins(t, 4, time.Hour, 2*time.Minute)
		service := w.remote(t, there, admin)
		w.useWhileUnheard(t, there, service, logins, func() { w.policy(t, time.Minute, time.Hour+time.Minute, 2*time.Second) })
		for _, l := range logins {
			testenv.Eventually(t, patience, func() bool { return here.me(t.Context(), l, true).status == http.StatusUnauthorized }, "the login is idle")
		}
		there.mysql.Heal()
		pause(t.Context(), 2*w.bound)
		for _, l := range logins {
			w.agree(t, admin, l, here, there, service)
			if w.lives(t, l) {
				t.Errorf("the row of %s lives, after %s has answered that it is over", l.name, here.name)
			}
		}
	})
}

// TestAnIdleEndIsFinal: nothing is broken. Two instances have seen uses of a login,
// and the row has one of them. Once an instance has answered that the login is idle,
// no use makes it good again.
func TestAnIdleEndIsFinal(t *testing.T) {
	onShared(t, 2, func(t *testing.T, w *world) {
		const idle, touch = 10 * time.Second, 2500 * time.Millisecond
		here, there := w.instances[0], w.instances[1]
		probe := w.logins(t, 1, time.Hour, 0)[0]
		w.policy(t, idle, 2*time.Hour, touch)
		awaitPolicy(t, probe, 2*time.Hour, here, there)

		// The row gets the use here. That there comes within the touch interval.
		logins := w.logins(t, 4, time.Hour, touch+100*time.Millisecond)
		used := time.Now().Add(-time.Second) // later than the rows have it now, however long the uses take
		for _, l := range logins {
			there.me(t.Context(), l, true)
			testenv.Eventually(t, patience, func() bool { return here.me(t.Context(), l, false).status == http.StatusOK }, "a use")
		}
		testenv.Eventually(t, patience, func() bool {
			return w.number(t, "SELECT COUNT(*) FROM users WHERE token_seen_at > ? AND id <> ?", used.UnixMilli(), int64(probe.user)) == int64(len(logins))
		}, "the uses are written")
		for _, l := range logins {
			there.me(t.Context(), l, false)
		}

		for _, l := range logins {
			var over answer
			testenv.Eventually(t, patience, func() bool {
				over = here.me(t.Context(), l, true)
				return over.status == http.StatusUnauthorized
			}, "the login is idle")
			there.me(t.Context(), l, false) // a use, or a refusal
			for _, asked := range []asker{there, here} {
				if a := asked.me(t.Context(), l, true); a.status == http.StatusOK {
					t.Errorf("%v, %v after %v", a, a.sent.Sub(over.received).Round(time.Millisecond), over)
				}
			}
			if w.lives(t, l) {
				t.Errorf("the row of %s lives, after %s has answered that it is over", l.name, here.name)
			}
		}
	})
}
