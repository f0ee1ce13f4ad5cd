//go:build unix

package attack

import (
	"encoding/json"
	"strings"
	"testing"
)

// key makes a service with a key.
func (w *world) key(admin, service string, scopes ...string) (key string) {
	w.t.Helper()
	a := w.send("POST", w.api, "/v1/admin/users", object("username", service, "password", password, "role", "service"), bearer(admin)...)
	list, _ := json.Marshal(scopes) // strings always marshal
	a = w.send("POST", w.api, "/v1/admin/users/"+a.field("id")+"/keys", `{"name":"a key","scopes":`+string(list)+`}`, bearer(admin)...)
	if a.status != 201 {
		w.t.Fatalf("make a key: got %d %s", a.status, a.body)
	}
	return a.field("key")
}

// TestIssuerOpensNothingElse: no key and no token opens what is not its own, whatever it says
// in the body; and what is refused ends no login of the person.
func TestIssuerOpensNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.admin("root")
	alice := w.register("alice")
	issuer, checker := w.key(root, "sms-backend", "issue"), w.key(root, "checker", "verify", "revoke", "issue:any-role")
	user, _ := w.idsOf(alice)
	admin, _ := w.idsOf(root)
	before := w.dump("users")
	for _, c := range []struct {
		name, credential, body string
		status                 int
		code                   string
	}{
		{"a key of another scope", checker, `{"user_id":"` + user + `","method":"sms"}`, 403, "scope_missing"},
		{"the token of the user", alice, `{"user_id":"` + user + `","method":"sms"}`, 403, "service_key_required"},
		{"the token of an admin", root, `{"user_id":"` + user + `","method":"sms"}`, 403, "service_key_required"},
		{"nobody", "", `{"user_id":"` + user + `","method":"sms"}`, 401, "token_missing"},
		{"an admin by ID", issuer, `{"user_id":"` + admin + `","method":"sms"}`, 403, "role_not_issuable"},
		{"an admin by name", issuer, `{"username":"ROOT","method":"sms"}`, 403, "role_not_issuable"},
		{"its own account", issuer, `{"username":"sms-backend","method":"sms"}`, 403, "role_not_issuable"},
		{"the name of another for a new user", issuer, `{"external_id":"x","create":true,"username":"Alice","method":"sms"}`, 409, "username_taken"},
		{"the name of an admin for a new user", issuer, `{"external_id":"x","create":true,"username":"root","method":"sms"}`, 409, "username_taken"},
		{"two users", issuer, `{"user_id":"` + user + `","username":"root","method":"sms"}`, 422, "validation_failed"},
		{"a user who is made as an admin", issuer, `{"external_id":"x","create":true,"role":"admin","method":"sms"}`, 400, "body_malformed"},
		{"a password as the method", issuer, `{"user_id":"` + user + `","method":"pwd"}`, 422, "validation_failed"},
		{"a method with a line in it", issuer, `{"user_id":"` + user + `","method":"sms\nevent=login.began"}`, 422, "validation_failed"},
	} {
		var headers []string
		if c.credential != "" {
			headers = bearer(c.credential)
		}
		a := w.send("POST", w.api, "/v1/issue", c.body, headers...)
		if a.status != c.status || a.field("code") != c.code {
			t.Errorf("%s: got %d %s, want %d %s", c.name, a.status, a.body, c.status, c.code)
		}
	}
	if after := w.dump("users"); after != before {
		t.Errorf("the users were\n%s\nand are\n%s", before, after)
	}
	for _, path := range []string{"/v1/me", "/v1/me/sessions", "/v1/admin/users"} {
		if a := w.send("GET", w.api, path, "", bearer(issuer)...); a.status != 401 || a.field("code") != "key_not_accepted" {
			t.Errorf("GET %s by a key: %d %s", path, a.status, a.body)
		}
	}
}

// TestReplayedIssueLeavesOneLogin: who replays a request of an issuer, which takes its key, has one
// login in the place of another, cannot make it another user's, and has none after the user has logged out.
func TestReplayedIssueLeavesOneLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.admin("root")
	w.register("alice")
	issuer := w.key(root, "sms-backend", "issue")
	again := func(body string) answer {
		return w.send("POST", w.api, "/v1/issue", body, append(bearer(issuer), "Idempotency-Key", `"5f0b"`)...)
	}
	const body = `{"username":"alice","method":"sms"}`
	first, second := again(body), again(body)
	if first.status != 200 || second.status != 200 || first.field("token") == second.field("token") {
		t.Fatalf("got %d and %d %s", first.status, second.status, second.body)
	}
	if a := w.send("GET", w.api, "/v1/me", "", bearer(first.field("token"))...); a.status != 401 || a.field("code") != "token_replaced" {
		t.Errorf("the first token: %d %s", a.status, a.body)
	}
	w.alive(second.field("token"))
	if a := again(`{"username":"alice","method":"email"}`); a.status != 422 || a.field("code") != "idempotency_key_reused" {
		t.Errorf("another body: %d %s", a.status, a.body)
	}
	w.alive(second.field("token"))
	if a := w.send("POST", w.api, "/v1/logout", `{"everywhere":true}`, bearer(second.field("token"))...); a.status != 204 {
		t.Errorf("log out everywhere: %d %s", a.status, a.body)
	}
	if a := again(body); a.status != 422 || a.field("code") != "idempotency_key_reused" || !strings.Contains(a.field("detail"), "has ended") {
		t.Errorf("after that: %d %s", a.status, a.body)
	}
	if record := w.dump("audit_events"); strings.Count(record, "issue_repeated") == 0 {
		t.Error("the record does not say that it was repeated")
	}
}
