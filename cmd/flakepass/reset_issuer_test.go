package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestLinksOutliveNobodysRight: somebody who holds the login of an admin gives out
// links. The account is disabled and demoted, and every login ends; then no link
// makes anybody an admin, and the record says who gave out what was tried.
func TestLinksOutliveNobodysRight(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	i := d.start(t)
	c := newClient(t, i.public)
	password := newPassword()
	for _, name := range []string{"root", "eve"} {
		must(t, d.vars, password+"\n", "user", "add", name, "--role", "admin", "--password-stdin")
	}
	eve, root := c.login("eve", password), c.login("root", password)
	ids := map[string]string{}
	users, _ := c.want(c.do("GET", "/v1/admin/users", "", bearer(root)), 200, "").fields["users"].([]any)
	for _, u := range users {
		if u, ok := u.(map[string]any); ok {
			ids[fmt.Sprint(u["username"])] = fmt.Sprint(u["id"])
		}
	}
	rootID, eveID := ids["root"], ids["eve"]
	give := func(by, path, body string) string {
		t.Helper()
		return resetText.FindString(string(c.want(c.do("POST", path, body, bearer(by)), 201, "").body))
	}
	reset := give(eve, "/v1/admin/users/"+rootID+"/password-reset", "")
	invitation := give(eve, "/v1/admin/users", `{"username":"mallory","role":"admin"}`)
	shell := resetText.FindString(must(t, d.vars, "", "user", "add", "oscar", "--invite").out)

	listed := string(c.want(c.do("GET", "/v1/admin/password-resets?issued_by="+eveID, "", bearer(root)), 200, "").body)
	for _, want := range []string{`"username":"root"`, `"username":"mallory"`, `"name":"eve"`} {
		if !strings.Contains(listed, want) {
			t.Errorf("%s is not in %s", want, listed)
		}
	}
	if resetText.MatchString(listed) || strings.Contains(listed, "oscar") {
		t.Errorf("listed: %s", listed)
	}

	c.want(c.do("PATCH", "/v1/admin/users/"+eveID, `{"disabled":true,"role":"user","reason":"stolen"}`, bearer(root)), 200, "")
	use := func(token string) answer {
		return c.do("POST", "/v1/password-resets", object("reset_token", token, "new_password", newPassword()))
	}
	for _, token := range []string{reset, invitation} {
		c.want(use(token), 403, "reset_token_invalid")
	}
	// What is given back does not come back.
	c.want(c.do("PATCH", "/v1/admin/users/"+eveID, `{"disabled":false,"role":"admin","reason":"cleared"}`, bearer(root)), 200, "")
	c.want(use(reset), 403, "reset_token_invalid")
	c.want(c.do("POST", "/v1/admin/logout-all", `{"reason":"stolen"}`, bearer(root)), 200, "")
	c.want(use(shell), 403, "reset_token_invalid")
	root = c.login("root", password) // it is what it was

	good := give(root, "/v1/admin/users/"+eveID+"/password-reset", "")
	c.want(use(good), 204, "")
	if err := i.stop(); err != nil { // which writes what was counted
		t.Fatal(err)
	}
	record := must(t, d.vars, "", "audit", "--json").out
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
