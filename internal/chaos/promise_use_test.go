//go:build unix

package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/testenv/faultproxy"
)

// TestNobodyIsIdleBeforeTheTimeThatWasTold: an instance has told until when a login
// lives if it is used no more. It is killed, or loses the database, before anything
// is written. Nobody is refused before that time.
func TestNobodyIsIdleBeforeTheTimeThatWasTold(t *testing.T) {
	onShared(t, 3, func(t *testing.T, w *world) {
		const idle, touch = 10 * time.Second, 2 * time.Second
		here, killed, cut := w.instances[0], w.instances[1], w.instances[2]
		probe := w.logins(t, 1, time.Hour, 0)[0]
		w.policy(t, idle, 2*time.Hour, touch)
		heard(t, probe, 2*time.Hour, here, killed, cut)

		logins := w.logins(t, 8, time.Hour, touch+100*time.Millisecond)
		end := time.Now().Add(idle - touch) // by what the rows have now
		of := func(n int) *instance { return []*instance{killed, cut}[n%2] }
		for n, l := range logins {
			of(n).me(t.Context(), l, true)
		}
		cut.mysql.Cut(faultproxy.Both)
		told := make([]time.Time, len(logins))
		for n, l := range logins {
			if a := of(n).me(t.Context(), l, false); a.status == http.StatusOK {
				told[n] = a.idleExpires
			}
		}
		killed.without(func() {
			if err := killed.process.Kill(); err != nil {
				t.Fatal(err)
			}
			said := observe(t, logins, here)
			pause(t.Context(), time.Until(end.Add(time.Second)))
			said.stop()
			for n, l := range logins {
				said.notRefused(t, l, of(n).name+" has told until when it lives", told[n])
			}
		})
	})
}
