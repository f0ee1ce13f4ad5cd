package lifecycletest

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestEndsByALowerLimitAreOnRecord: whether a check finds them, a command that changes nothing
// by itself, or the sweep.
func TestEndsByALowerLimitAreOnRecord(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			vars := d.With("FLAKEPASS_AUDIT_EXPIRY", "on")
			i := d.Start(t, "FLAKEPASS_AUDIT_EXPIRY", "on")
			c, db := e2e.NewClient(t, i.Public), d.SQL(t)
			e2e.Execute(t, db, "UPDATE settings SET max_sessions = 2, slots = 1, sweep_schedule = '0 0 1 1 *' WHERE scope = 'global'")
			first := map[string]string{}
			for _, name := range []string{"alice", "bobby", "carol"} {
				password := e2e.NewPassword()
				c.Want(c.Register(name, password), 201, "")
				first[name] = c.Login(name, password)
				c.Login(name, password)
			}
			e2e.Execute(t, db, "UPDATE settings SET max_sessions = 1, reduced_to = 2, version = version + 1, updated_at = ? WHERE scope = 'global'", time.Now().UnixMilli())
			testenv.Eventually(t, e2e.Patience, func() bool { return c.Me(first["alice"]).Status == 401 }, "the first login of a user is accepted")
			recorded := func(want int, by string) {
				t.Helper()
				n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'login.expired' AND via = 'server' AND CAST(new_value AS CHAR) LIKE '%over_limit%'")
				if n != want {
					t.Errorf("%s: %d events, want %d", by, n, want)
				}
			}
			recorded(1, "a check")
			e2e.Must(t, vars, "", "session", "list", "--user", "bobby")
			recorded(2, "a list")
			e2e.Must(t, vars, "", "sweep")
			recorded(3, "a sweep")
		})
	}
}
