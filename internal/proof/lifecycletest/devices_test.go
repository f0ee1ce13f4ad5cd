//go:build unix

package lifecycletest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestDevicesLiveSideBySideOnEveryProcess: what one process begins or ends, the other
// accepts or refuses, in every slot; and a lower limit ends what another process remembers
// as alive.
func TestDevicesLiveSideBySideOnEveryProcess(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			w := newPolicyWorld(t, setup.make)
			here, there := e2e.NewClient(t, w.a.Public), e2e.NewClient(t, w.b.Public)
			const never = "0 0 1 1 *"
			set := func(sessions, version int) {
				t.Helper()
				more := fmt.Sprintf(`,"confirm":true,"max_sessions":%d`, sessions)
				w.admin.Want(w.ask("PUT", "/v1/admin/policy", wantedPolicy(86400, never, more), e2e.Header("If-Match", fmt.Sprintf("%q", fmt.Sprint(version-1)))), 200, "")
			}
			password := e2e.NewPassword()
			w.keep.Password(password)
			here.Want(here.Register("ada", password), 201, "")
			on := func(c *e2e.Client, class string) string {
				t.Helper()
				return c.Want(c.Do("POST", "/v1/login", fmt.Sprintf(`{"username":"ada","password":%q,"device":{"class":%q,"name":"Ada’s"}}`, password, class)), 200, "").Field("token")
			}
			refused := func(c *e2e.Client, token string) {
				t.Helper()
				testenv.Eventually(t, e2e.Patience, func() bool { return c.Me(token).Status == 401 }, "the token is still accepted")
			}
			dead := func(c *e2e.Client, token, code string) {
				t.Helper()
				refused(c, token)
				c.Dead(token, code)
			}
			first := on(here, "phone")
			set(3, 2)
			// The other process need not have heard of it to find a session in another slot.
			all := []string{first, on(here, "tablet"), on(here, "web")}
			for _, token := range all {
				there.Alive(token)
				here.Alive(token)
			}
			again := on(there, "tablet")
			dead(here, all[1], "token_replaced")
			dead(there, all[1], "token_replaced")
			all[1] = again
			there.Want(there.Logout(all[2]), 204, "")
			dead(here, all[2], "token_logged_out")
			w.inForce(t, 2)
			all[2] = on(there, "tv")
			for _, token := range all {
				there.Alive(token)
				here.Alive(token)
			}
			set(1, 3)
			w.inForce(t, 3)
			alive := 0
			for i, token := range all {
				switch a := there.Me(token); a.Status {
				case 200:
					alive++
					here.Alive(token)
				case 401:
					there.Dead(token, "token_revoked")
					here.Dead(token, "token_revoked")
				default:
					t.Errorf("device %d: %d %s", i, a.Status, a.Body)
				}
			}
			if alive != 1 {
				t.Errorf("%d sessions live, want 1", alive)
			}
			set(3, 4)
			w.inForce(t, 4)
			fourth := on(here, "desktop")
			w.admin.Want(w.ask("PATCH", "/v1/admin/users/"+userID(t, w, "ada"), `{"disabled":true}`), 200, "")
			for _, token := range append(all, fourth) {
				refused(here, token)
				refused(there, token)
			}
		})
	}
}

// userID is the ID of a user.
func userID(t *testing.T, w *policyWorld, name string) string {
	t.Helper()
	a := w.admin.Want(w.ask("GET", "/v1/admin/users?name="+name, ""), 200, "")
	_, rest, _ := strings.Cut(string(a.Body), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
