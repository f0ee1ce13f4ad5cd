//go:build unix

package chaos

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// The absolute lifetime in the tests below, before it is made longer and after.
// What is left of the logins is enough for all to read the first and to
// be cut off from the second.
const (
	shortLife = time.Hour
	longLife  = 2 * time.Hour
	left      = 4 * time.Second
)

// agedLogins makes logins that the absolute lifetime ends soon, and has all of them
// asked. Then it cuts off, and makes the lifetime longer in time. It returns the
// logins, and the moment in which the shorter lifetime would have ended them.
func (w *world) agedLogins(t *testing.T, n int, cut []*faultproxy.Proxy, who ...asker) (logins []userLogin, end time.Time) {
	t.Helper()
	w.policy(t, shortLife, shortLife, time.Minute)
	probe := w.logins(t, 1, time.Minute, 0)[0]
	awaitPolicy(t, probe, shortLife, who...)
	testenv.Eventually(t, patience, func() bool { // anew, if this machine stood still
		logins = w.logins(t, n, shortLife-left, time.Minute)
		end = logins[0].issued().Add(shortLife)
		for _, l := range logins {
			for _, asked := range who {
				asked.me(t.Context(), l, true)
			}
		}
		if time.Until(end) < left/2 {
			return false
		}
		for _, link := range cut {
			link.Cut(faultproxy.Both)
		}
		if w.policy(t, longLife, longLife, time.Minute).Before(end) {
			return true
		}
		for _, link := range cut {
			link.Heal()
		}
		w.policy(t, shortLife, shortLife, time.Minute)
		awaitPolicy(t, probe, shortLife, who...)
		return false
	}, "all instances know the logins, and the lifetime is longer in time")
	return logins, end
}

// TestALongerLifetimeIsNoFalseEndWhereItIsNotReceived: no instance says of a login that
// lives that it is too old, neither an instance that is cut off from the database
// nor a service that is cut off from flakepass, while they are and afterwards.
func TestALongerLifetimeIsNoFalseEndWhereItIsNotReceived(t *testing.T) {
	onShared(t, 2, func(t *testing.T, w *world) {
		here, there := w.instances[0], w.instances[1]
		admin := w.admin(t)
		service := w.remote(t, here, admin)
		logins, end := w.agedLogins(t, 2, []*faultproxy.Proxy{there.mysql, service.link}, here, there, service)

		said := observe(t, logins, here, there, service)
		pause(t.Context(), time.Until(end.Add(time.Second)))
		there.mysql.Heal()
		service.link.Heal()
		pause(t.Context(), 2*w.bound)
		said.stop()
		for _, l := range logins {
			said.notRefused(t, l, "a login that lives", time.Now())
			w.agree(t, admin, l, here, there, service)
		}
	})
}

// TestALogoutByAnOldPolicyIsTrue: a logout on an instance that is cut off, and has
// not read a longer lifetime by which the login lives, ends it or is not
// acknowledged.
func TestALogoutByAnOldPolicyIsTrue(t *testing.T) {
	onShared(t, 2, func(t *testing.T, w *world) {
		here, there := w.instances[0], w.instances[1]
		logins, end := w.agedLogins(t, 4, []*faultproxy.Proxy{there.mysql}, here, there)
		pause(t.Context(), time.Until(end.Add(50*time.Millisecond)))
		said := make([]attempt, len(logins))
		var all sync.WaitGroup
		for n, l := range logins {
			all.Go(func() { said[n] = logoutOf(t, there, l) })
		}
		all.Wait()
		for n, l := range logins {
			if acknowledged(said[n].status) && w.lives(t, l) {
				t.Errorf("%s: %d by an instance that is cut off, and the login lives", said[n].who, said[n].status)
			}
		}
		there.mysql.Heal()
		pause(t.Context(), w.bound)
		for n, l := range logins {
			if a := here.me(t.Context(), l, true); acknowledged(said[n].status) && a.status == http.StatusOK {
				t.Errorf("%v, after its logout was acknowledged by an instance that was cut off", a)
			}
		}
	})
}

// TestNoAnswerIsFalseBeforeALongerPolicyIsReceived: nothing is broken. In the moment
// between a change of the policy and the next poll of an instance, no instance says of a
// login that the change has saved that it is over, and a logout that is acknowledged
// ends it.
func TestNoAnswerIsFalseBeforeALongerPolicyIsReceived(t *testing.T) {
	onShared(t, 2, func(t *testing.T, w *world) {
		const rounds, idle, soon = 6, shortLife / 2, 150 * time.Millisecond
		asked, falseEnds, acknowledgements, lies := 0, 0, 0, 0
		for range rounds {
			w.policy(t, idle, shortLife, time.Minute)
			awaitPolicy(t, w.logins(t, 1, time.Minute, 0)[0], shortLife, w.instances[0], w.instances[1])
			aged := w.logins(t, len(w.instances), shortLife-soon, 0)
			end := time.Now().Add(soon)
			unused := w.logins(t, len(w.instances), idle, idle-soon)
			if changed := w.policy(t, longLife, longLife, time.Minute); !changed.Before(aged[0].issued().Add(shortLife)) {
				continue // this machine stood still: the logins are over
			}
			pause(t.Context(), time.Until(end.Add(5*time.Millisecond)))
			for n, i := range w.instances {
				for _, l := range []userLogin{aged[n], unused[n]} {
					if asked++; i.me(t.Context(), l, true).status == http.StatusUnauthorized {
						falseEnds++
					}
					if a := logoutOf(t, i, l); acknowledged(a.status) {
						if acknowledgements++; w.lives(t, l) {
							lies++
						}
					}
				}
			}
		}
		t.Logf("%d logins in that moment", asked)
		if falseEnds > 0 {
			t.Errorf("of %d logins that live %d were refused", asked, falseEnds)
		}
		if lies > 0 || acknowledgements == 0 && asked > 0 {
			t.Errorf("of %d logouts %d were acknowledged, of which %d had done nothing, and the logins live", asked, acknowledgements, lies)
		}
	})
}
