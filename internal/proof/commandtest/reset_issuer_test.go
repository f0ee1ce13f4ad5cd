package commandtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestLinksEndWithTheRightOfTheirIssuer: an attacker who holds the login of an admin gives out
// links. The account is disabled and demoted, and every login ends; then no link
// makes any user an admin, and the record says who gave out what was tried.
func TestLinksEndWithTheRightOfTheirIssuer(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	password := e2e.NewPassword()
	for _, name := range []string{"root", "eve"} {
		e2e.Must(t, d.Vars, password+"\n", "user", "add", name, "--role", "admin", "--password-stdin")
	}
	eve, root := c.Login("eve", password), c.Login("root", password)
	ids := map[string]string{}
	users, _ := c.Want(c.Do("GET", "/v1/admin/users", "", e2e.Bearer(root)), 200, "").Fields["users"].([]any)
	for _, u := range users {
		if u, ok := u.(map[string]any); ok {
			ids[fmt.Sprint(u["username"])] = fmt.Sprint(u["id"])
		}
	}
	rootID, eveID := ids["root"], ids["eve"]
	give := func(by, path, body string) string {
		t.Helper()
		return e2e.ResetText.FindString(string(c.Want(c.Do("POST", path, body, e2e.Bearer(by)), 201, "").Body))
	}
	reset := give(eve, "/v1/admin/users/"+rootID+"/password-reset", "")
	invitation := give(eve, "/v1/admin/users", `{"username":"mallory","role":"admin"}`)
	shell := e2e.ResetText.FindString(e2e.Must(t, d.Vars, "", "user", "add", "oscar", "--invite").Out)

	listed := string(c.Want(c.Do("GET", "/v1/admin/password-resets?issued_by="+eveID, "", e2e.Bearer(root)), 200, "").Body)
	for _, want := range []string{`"username":"root"`, `"username":"mallory"`, `"name":"eve"`} {
		if !strings.Contains(listed, want) {
			t.Errorf("%s is not in %s", want, listed)
		}
	}
	if e2e.ResetText.MatchString(listed) || strings.Contains(listed, "oscar") {
		t.Errorf("listed: %s", listed)
	}

	c.Want(c.Do("PATCH", "/v1/admin/users/"+eveID, `{"disabled":true,"role":"user","reason":"stolen"}`, e2e.Bearer(root)), 200, "")
	use := func(token string) e2e.Answer {
		return c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", token, "new_password", e2e.NewPassword()))
	}
	for _, token := range []string{reset, invitation} {
		c.Want(use(token), 403, "reset_token_invalid")
	}
	// What is given back does not come back.
	c.Want(c.Do("PATCH", "/v1/admin/users/"+eveID, `{"disabled":false,"role":"admin","reason":"cleared"}`, e2e.Bearer(root)), 200, "")
	c.Want(use(reset), 403, "reset_token_invalid")
	c.Want(c.Do("POST", "/v1/admin/logout-all", `{"reason":"stolen"}`, e2e.Bearer(root)), 200, "")
	c.Want(use(shell), 403, "reset_token_invalid")
	root = c.Login("root", password) // it is what it was

	good := give(root, "/v1/admin/users/"+eveID+"/password-reset", "")
	c.Want(use(good), 204, "")
	if err := i.Stop(); err != nil { // which writes what was counted
		t.Fatal(err)
	}
	record := e2e.Must(t, d.Vars, "", "audit", "--json").Out
	for _, want := range []string{
		`"reset_token_invalid: issued by user ` + eveID + `"`,
		`@`, `, in a shell"`,
		`"issued_by":"` + rootID + `"`,
	} {
		if !strings.Contains(record, want) {
			t.Errorf("%s is not in the record", want)
		}
	}
}
