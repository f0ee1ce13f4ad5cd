//go:build unix

package chaos

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// An act is something after which no login of before is good.
type act struct {
	name string
	do   func(t *testing.T, i *instance, admin string, l userLogin) attempt
}

var acts = []act{
	{"a new login", func(t *testing.T, i *instance, _ string, l userLogin) attempt {
		a, _ := i.ask(t.Context(), "POST", "/v1/login", "", credentials{l.name, password})
		return a
	}},
	{"an operator's logout", func(t *testing.T, i *instance, admin string, l userLogin) attempt {
		a, _ := i.ask(t.Context(), "POST", "/v1/admin/users/"+l.user.String()+"/logout", admin, nil)
		return a
	}},
	{"the end of one login", func(t *testing.T, i *instance, admin string, l userLogin) attempt {
		a, _ := i.ask(t.Context(), "DELETE", "/v1/admin/sessions/"+l.id.String(), admin, nil)
		return a
	}},
	{"a disabled account", func(t *testing.T, i *instance, admin string, l userLogin) attempt {
		a, _ := i.ask(t.Context(), "PATCH", "/v1/admin/users/"+l.user.String(), admin, map[string]any{"disabled": true})
		return a
	}},
	{"a deleted account", func(t *testing.T, i *instance, admin string, l userLogin) attempt {
		a, _ := i.ask(t.Context(), "DELETE", "/v1/admin/users/"+l.user.String(), admin, map[string]any{"username": l.name})
		return a
	}},
	{"another role", func(t *testing.T, i *instance, admin string, l userLogin) attempt {
		a, _ := i.ask(t.Context(), "PATCH", "/v1/admin/users/"+l.user.String(), admin, map[string]any{"role": "service"})
		return a
	}},
	{"another password", func(t *testing.T, i *instance, admin string, l userLogin) attempt {
		a, text := i.ask(t.Context(), "POST", "/v1/admin/users/"+l.user.String()+"/password-reset", admin, nil)
		var given struct {
			Token string `json:"reset_token"`
		}
		if err := json.Unmarshal(text, &given); err != nil || a.status != http.StatusCreated {
			return a
		}
		a, _ = i.ask(t.Context(), "POST", "/v1/password-resets", "",
			map[string]string{"reset_token": given.Token, "new_password": "seven green kites over the bay"})
		return a
	}},
	{"the same logout", func(t *testing.T, i *instance, _ string, l userLogin) attempt { return logoutOf(t, i, l) }},
}

func logoutOf(t *testing.T, i *instance, l userLogin) attempt {
	a, _ := i.ask(t.Context(), "POST", "/v1/logout", l.token, nil)
	return a
}

func acknowledged(status int) bool {
	return slices.Contains([]int{http.StatusOK, http.StatusAccepted, http.StatusNoContent}, status)
}

// performAll has an act done on each login until it is acknowledged, and returns
// when that was.
func performAll(t *testing.T, i *instance, admin string, logins []userLogin) []time.Time {
	t.Helper()
	when := make([]time.Time, len(logins))
	for n, l := range logins {
		testenv.Eventually(t, patience, func() bool {
			a := acts[n].do(t, i, admin, l)
			when[n] = a.received
			return acknowledged(a.status)
		}, acts[n].name+" is acknowledged")
	}
	return when
}

// hold holds the askers to what was acknowledged.
func (w *world) hold(t *testing.T, admin string, logins []userLogin, when []time.Time, who ...asker) {
	t.Helper()
	said := observe(t, logins, who...)
	pause(t.Context(), time.Until(when[len(when)-1].Add(2*w.bound)))
	said.stop()
	for n, l := range logins {
		said.notAccepted(t, l, acts[n].name, when[n], w.bound)
		w.agree(t, admin, l, who...)
	}
}

// TestAnAcknowledgedActEndsTheLoginAlsoAfterALateCommit: a logout hangs in its
// COMMIT for longer than any window of the feed, is answered that it is unknown, and
// takes effect in the end. What is acknowledged after that holds within the bound,
// although no login lived any more when it was done.
func TestAnAcknowledgedActEndsTheLoginAlsoAfterALateCommit(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name    string
		own     func(testing.TB) *testenv.MySQLServer
		stall   stall
		noRedis bool
	}{
		{"mysql_redis", testenv.OwnMySQL, mysqlStall, false},
		{"mariadb", testenv.OwnMariaDB, mariaDBStall, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			on := func(t testing.TB) database { return ownDatabase(s.own(t)) }
			w := newWorld(t, recipe{instances: 2, bound: promiseBound, on: on, noRedis: s.noRedis})
			w.exec(t, s.stall.install)
			here, there := w.instances[0], w.instances[1]
			admin := w.admin(t)
			logins := w.logins(t, len(acts), time.Hour, time.Minute)
			service := w.remote(t, there, admin)
			// Passive: a use would be written a moment later, perhaps into the stall, and
			// its transaction would keep the logouts from their rows.
			for _, l := range logins {
				for _, asked := range []asker{there, service} {
					if a := asked.me(t.Context(), l, true); a.status != http.StatusOK {
						t.Fatalf("%v before anything broke", a)
					}
				}
			}

			w.exec(t, s.stall.begin)
			begun := time.Now()
			var all sync.WaitGroup
			for _, l := range logins {
				all.Go(func() {
					if a := logoutOf(t, here, l); a.status != http.StatusServiceUnavailable {
						t.Errorf("%s, which cannot have been committed: %d", a.who, a.status)
					}
				})
			}
			all.Wait()
			const late = 10 * time.Second
			pause(t.Context(), time.Until(begun.Add(late)))
			w.exec(t, s.stall.end)
			testenv.Eventually(t, patience, func() bool {
				return w.number(t, "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL AND username <> 'admin'") == 0
			}, "the logouts are committed")

			when := performAll(t, here, admin, logins)
			w.hold(t, admin, logins, when, here, there, service)
		})
	}
}

// TestAnAcknowledgedActEndsTheLoginThatASweepHasCleared: an instance accepts a login,
// and has not read yet that the policy is shorter. A sweep has cleared the row
// as idle when the act is done and acknowledged.
func TestAnAcknowledgedActEndsTheLoginThatASweepHasCleared(t *testing.T) {
	onShared(t, 2, func(t *testing.T, w *world) {
		here, there := w.instances[0], w.instances[1]
		admin := w.admin(t)
		logins := w.logins(t, len(acts), time.Hour, 2*time.Minute)
		service := w.remote(t, there, admin)
		w.useWhileUnheard(t, there, service, logins, func() { w.policy(t, time.Minute, time.Hour+time.Minute, 2*time.Second) })

		testenv.Eventually(t, patience, func() bool {
			_, _ = here.ask(t.Context(), "POST", "/v1/admin/sweeps", admin, nil)
			return w.number(t, "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL AND username <> 'admin'") == 0
		}, "the rows are swept")
		when := performAll(t, here, admin, logins)
		there.mysql.Heal()
		w.hold(t, admin, logins, when, here, there, service)
	})
}

// useWhileUnheard has an instance and its service remember logins without a use of
// them, cuts the instance off from the database, has them used there, and changes
// the policy. The caller heals the link.
func (w *world) useWhileUnheard(t *testing.T, i *instance, service *remote, logins []userLogin, change func()) {
	t.Helper()
	for _, l := range logins {
		for _, asked := range []asker{i, service} {
			testenv.Eventually(t, patience, func() bool { return asked.me(t.Context(), l, true).status == http.StatusOK }, "the login is good")
		}
	}
	i.mysql.Cut(faultproxy.Both)
	for _, l := range logins {
		// A request that comes later than the bound is 503, and is no use.
		for _, asked := range []asker{service, i} {
			if a := asked.me(t.Context(), l, false); a.status != http.StatusOK {
				t.Logf("not used: %v", a)
			}
		}
	}
	change()
}
