//go:build unix

package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// TestNoLoginIsIdleBeforeTheTimeInAnyAnswer: an answer has said when a login ends if
// it is used no more. The instance is killed, or loses the database, before anything
// is written. No login is refused before that time.
func TestNoLoginIsIdleBeforeTheTimeInAnyAnswer(t *testing.T) {
	onShared(t, 3, func(t *testing.T, w *world) {
		const idle, touch = 12 * time.Second, 2 * time.Second
		here, killed, cut := w.instances[0], w.instances[1], w.instances[2]
		service := w.remote(t, cut, w.admin(t))
		probe := w.logins(t, 1, time.Hour, 0)[0]
		w.policy(t, idle, 2*time.Hour, touch)
		awaitPolicy(t, probe, 2*time.Hour, here, killed, cut, service)

		askers := []asker{cut, service, killed}
		logins := w.logins(t, 4*len(askers), time.Hour, touch+100*time.Millisecond)
		end := time.Now().Add(idle - touch) // by what the rows have now
		of := func(n int) asker { return askers[n%len(askers)] }
		ends := make([]time.Time, len(logins))
		use := func(who asker) {
			for n, l := range logins {
				if of(n) == who {
					if a := who.me(t.Context(), l, false); a.status == http.StatusOK && a.idleExpires.After(ends[n]) {
						ends[n] = a.idleExpires
					}
				}
			}
		}
		for n, l := range logins {
			of(n).me(t.Context(), l, true)
		}
		cut.mysql.Cut(faultproxy.Both)
		testenv.Eventually(t, patience, func() bool { // before the others, who may have to wait for the database
			use(killed)
			for n := range logins {
				if of(n) == killed && ends[n].IsZero() {
					return false
				}
			}
			return true
		}, killed.name+", which nothing has cut off, answers until when its logins live")
		killed.without(func() {
			if err := killed.process.Kill(); err != nil {
				t.Fatal(err)
			}
			use(cut)
			// A Remote says more once the instance has acknowledged a use.
			for begun := time.Now(); time.Since(begun) < w.bound-500*time.Millisecond; pause(t.Context(), 50*time.Millisecond) {
				use(service)
			}
			said := observe(t, logins, here)
			pause(t.Context(), time.Until(end.Add(time.Second)))
			said.stop()
			for n, l := range logins {
				said.notRefused(t, l, of(n).called()+" has answered until when it lives", ends[n])
			}
		})
	})
}
