package deploytest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestADemotedAdminMakesNoAccountElsewhere: an admin is disabled and demoted at one
// instance. Another one, without Redis, receives no end meanwhile, and still
// believes the token. From the acknowledgement on it makes no account by it.
func TestADemotedAdminMakesNoAccountElsewhere(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQLAlone(t)
	proxy, through := e2e.Between(t, d)
	long := []string{"FLAKEPASS_REVOCATION_BOUND", "5m"}
	here := e2e.NewClient(t, e2e.StartProcess(t, t.TempDir(), d.With(long...)).Public)
	there := e2e.NewClient(t, e2e.StartProcess(t, t.TempDir(), d.With(append(long, through...)...)).Public)
	e2e.NewAdmin(t, d, "root", account.RoleAdmin)
	db := d.SQL(t)
	admins := func() int { return e2e.Count(t, db, "SELECT COUNT(*) FROM users WHERE role = 'admin'") }
	root := here.Login("root", e2e.Passphrase)

	proxy.Decide(func(statement string) e2e.Fate {
		if strings.Contains(statement, "FROM users WHERE token_floor_at >= ") {
			return e2e.NeverSent
		}
		return e2e.Passes
	})
	for name, change := range map[string]string{"mallory": `{"disabled":true,"role":"user"}`, "oscar": `{"role":"user"}`, "trudy": `{"disabled":true}`} {
		e2e.NewAdmin(t, d, name, account.RoleAdmin)
		token := there.Login(name, e2e.Passphrase)
		id := there.Want(there.Do("POST", "/v1/admin/users", e2e.Object("username", name+"2", "password", e2e.NewPassword(), "role", "admin"), e2e.Bearer(token)), 201, "").Field("id")
		here.Want(here.Do("DELETE", "/v1/admin/users/"+id+"/password-reset", "", e2e.Bearer(root)), 204, "") // it is there
		user := e2e.Count(t, db, "SELECT id FROM users WHERE username = ?", name)
		there.Alive(token)

		here.Want(here.Do("PATCH", "/v1/admin/users/"+strconv.Itoa(user), change, e2e.Bearer(root)), 200, "")
		before := admins()
		there.Alive(token) // it has not read it
		for i := range 5 {
			got := there.Do("POST", "/v1/admin/users", e2e.Object("username", name+"x"+strconv.Itoa(i), "password", e2e.NewPassword(), "role", "admin"), e2e.Bearer(token))
			if got.Status != 401 || got.Field("code") != "token_revoked" && got.Field("code") != "account_disabled" {
				t.Errorf("%s, after %s: %d %s", name, change, got.Status, got.Body)
			}
		}
		if n := admins(); n != before {
			t.Errorf("%s has made %d admins after %s was acknowledged", name, n-before, change)
		}
	}
}
