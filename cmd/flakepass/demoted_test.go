package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// TestADemotedAdminMakesNobodyElsewhere: an admin is disabled and demoted at one
// instance. Another one, without Redis, hears of no end meanwhile, and still
// believes the token. From the acknowledgement on it makes no account by it.
func TestADemotedAdminMakesNobodyElsewhere(t *testing.T) {
	t.Parallel()
	d := onMySQLAlone(t)
	proxy, through := between(t, d)
	long := []string{"FLAKEPASS_REVOCATION_BOUND", "5m"}
	here := newClient(t, startProcess(t, t.TempDir(), d.with(long...)).public)
	there := newClient(t, startProcess(t, t.TempDir(), d.with(append(long, through...)...)).public)
	newAdmin(t, d, "root", account.RoleAdmin)
	db := d.sql(t)
	admins := func() int { return count(t, db, "SELECT COUNT(*) FROM users WHERE role = 'admin'") }
	root := here.login("root", passphrase)

	proxy.decide(func(statement string) fate {
		if strings.Contains(statement, "FROM users WHERE token_floor_at >= ") {
			return neverSent
		}
		return passes
	})
	for name, change := range map[string]string{"mallory": `{"disabled":true,"role":"user"}`, "oscar": `{"role":"user"}`, "trudy": `{"disabled":true}`} {
		newAdmin(t, d, name, account.RoleAdmin)
		token := there.login(name, passphrase)
		id := there.want(there.do("POST", "/v1/admin/users", object("username", name+"2", "password", newPassword(), "role", "admin"), bearer(token)), 201, "").field("id")
		here.want(here.do("DELETE", "/v1/admin/users/"+id+"/password-reset", "", bearer(root)), 204, "") // it is there
		user := count(t, db, "SELECT id FROM users WHERE username = ?", name)
		there.alive(token)

		here.want(here.do("PATCH", "/v1/admin/users/"+strconv.Itoa(user), change, bearer(root)), 200, "")
		before := admins()
		there.alive(token) // it has not heard
		for i := range 5 {
			got := there.do("POST", "/v1/admin/users", object("username", name+"x"+strconv.Itoa(i), "password", newPassword(), "role", "admin"), bearer(token))
			if got.status != 401 || got.field("code") != "token_revoked" && got.field("code") != "account_disabled" {
				t.Errorf("%s, after %s: %d %s", name, change, got.status, got.body)
			}
		}
		if n := admins(); n != before {
			t.Errorf("%s has made %d admins after %s was acknowledged", name, n-before, change)
		}
	}
}
