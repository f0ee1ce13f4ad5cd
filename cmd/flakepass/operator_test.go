package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// operatorsRequests is a chapter of the story: what an operator does over HTTP
// on one instance, the other acts by, and the record has.
func operatorsRequests(t *testing.T, w *world) {
	c, there := w.client(t, w.a), w.client(t, w.b)
	password := newPassword()
	w.keep.password(password)
	must(t, w.vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	admin := c.login("root", password)
	as := func(token, method, path, body string) answer {
		t.Helper()
		return c.do(method, "/v1/admin"+path, body, bearer(token), header("X-Request-Id", "an-operators-request"))
	}

	made := c.want(as(admin, "POST", "/users", object("username", "Oscar", "password", password, "role", "user", "reason", "new here")), 201, "")
	c.want(as(admin, "POST", "/users", object("username", "oscar", "password", password, "role", "user")), 409, "username_taken")
	id := made.field("id")
	token := c.login("oscar", password)
	there.alive(token)
	for method, path := range map[string]string{"GET": "/users", "POST": "/logout-all", "DELETE": "/sessions/1"} {
		c.want(as(token, method, path, ""), 403, "forbidden")
	}

	one := c.want(as(admin, "GET", "/users/"+id, ""), 200, "")
	login, _ := one.fields["session"].(map[string]any)
	if one.field("username") != "oscar" || login == nil {
		t.Fatalf("GET: %s", one.body)
	}
	session := fmt.Sprint(login["id"])
	if list := c.want(as(admin, "GET", "/users?name=os&limit=1", ""), 200, ""); !strings.Contains(string(list.body), id) {
		t.Errorf("by name: %s", list.body)
	}
	if list := c.want(as(admin, "GET", "/sessions?limit=1", ""), 200, ""); !strings.Contains(string(list.body), session) || list.field("next_cursor") != session {
		t.Errorf("the newest login: %s", list.body)
	}

	// A role is part of what a login was given: no login outlives it.
	c.want(as(admin, "PATCH", "/users/"+id, `{"role":"service","reason":"an API"}`), 200, "")
	changed := time.Now()
	c.dead(token, "token_revoked")
	soon(t, there, token, "token_revoked", changed)
	token = c.login("oscar", password)
	if me := there.alive(token); me.field("role") != "service" {
		t.Errorf("after the change: %s", me.body)
	}
	c.want(as(admin, "PATCH", "/users/"+id, `{"role":"service"}`), 200, "")
	c.alive(token) // what is so already ends nothing

	c.alive(admin)
	root := count(t, w.sql(t), "SELECT id FROM users WHERE username = 'root'")
	for _, body := range []string{`{"role":"user"}`, `{"disabled":true}`} {
		c.want(as(admin, "PATCH", fmt.Sprintf("/users/%d", root), body), 409, "last_admin")
	}
	c.alive(admin)

	c.want(as(admin, "POST", "/users/"+id+"/logout", `{"reason":"lost phone"}`), 204, "")
	soon(t, there, token, "token_revoked", time.Now())
	c.want(as(admin, "POST", "/users/"+id+"/logout", ""), 204, "")
	token = c.login("oscar", password)
	there.alive(token)
	list := c.want(as(admin, "GET", "/sessions?limit=1", ""), 200, "")
	session = list.field("next_cursor")
	c.want(as(admin, "GET", "/sessions/"+session, ""), 200, "")
	c.want(as(admin, "DELETE", "/sessions/"+session, ""), 204, "")
	c.dead(token, "token_revoked")
	soon(t, there, token, "token_revoked", time.Now())
	c.want(as(admin, "GET", "/sessions/"+session, ""), 404, "not_found")
	c.want(as(admin, "DELETE", "/sessions/"+session, ""), 204, "")
	c.want(as(admin, "DELETE", "/sessions/12345", ""), 404, "not_found")
	token = c.login("oscar", password)
	c.want(as(admin, "PATCH", "/users/"+id, `{"disabled":true}`), 200, "")
	c.dead(token, "account_disabled")
	soon(t, there, token, "account_disabled", time.Now())
	c.want(c.tryLogin("oscar", password), 403, "account_disabled")
	c.want(as(admin, "PATCH", "/users/"+id, `{"disabled":false}`), 200, "")

	stats := c.want(as(admin, "GET", "/stats", ""), 200, "")
	if n := count(t, w.sql(t), "SELECT COUNT(*) FROM users"); !strings.Contains(string(stats.body), fmt.Sprintf(`"users":{"count":%d,"error":0}`, n)) {
		t.Errorf("%d users, and the stats are %s", n, stats.body)
	}

	// Everybody, and oneself: here at once, elsewhere within the bound.
	token = there.login("oscar", password)
	there.alive(token)
	c.want(as(admin, "POST", "/logout-all", `{"reason":"a leak"}`), 200, "")
	ended := time.Now()
	c.dead(admin, "token_revoked")
	c.dead(token, "token_revoked")
	soon(t, there, token, "token_revoked", ended)
	soon(t, there, admin, "token_revoked", ended)
	there.alive(there.login("oscar", password))

	for action, want := range map[string]int{
		"user.created": 1, "user.role_changed": 1, "user.disabled": 1, "user.enabled": 1, "login.ended": 2, "login.all_ended": 1,
	} {
		n := count(t, w.sql(t), "SELECT COUNT(*) FROM audit_events WHERE action = ? AND actor_id = ? AND actor = 'root' AND via = 'api' AND "+
			"request_id = 'an-operators-request' AND address LIKE '127.%'", action, root)
		if n != want {
			t.Errorf("%d events %s by root, want %d", n, action, want)
		}
	}
	// The commands, too, by whoever typed them.
	if n := count(t, w.sql(t), "SELECT COUNT(*) FROM audit_events WHERE via = 'cli' AND actor_id IS NULL AND actor LIKE '%@%' AND target = 'dave'"); n != 4 {
		t.Errorf("%d events of the commands about dave, want those of disable, enable, logout and passwd", n)
	}
	if n := count(t, w.sql(t), "SELECT COUNT(*) FROM audit_events WHERE reason = 'lost phone' AND target_kind = 'user' AND target = 'oscar'"); n != 1 {
		t.Errorf("%d events for that reason", n)
	}
}

// When Redis cannot be told, an operator is told by when every instance acts by
// what was done; and that is so.
func TestOperatorLearnsThatRedisWasNotTold(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	redis := testenv.Redis(t)
	d.vars["FLAKEPASS_REDIS"] = redis.URL()
	a, b := d.start(t), d.start(t)
	here, there := newClient(t, a.public), newClient(t, b.public)
	password := newPassword()
	must(t, d.vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	admin := here.login("root", password)
	id := here.want(here.do("POST", "/v1/admin/users", object("username", "oscar", "password", password, "role", "user"), bearer(admin)), 201, "").field("id")
	redis.Stop()
	for _, c := range [][3]string{
		{"PATCH", "/v1/admin/users/" + id, `{"role":"service"}`},
		{"PATCH", "/v1/admin/users/" + id, `{"role":"service"}`}, // the answer may have been lost: it is told again
		{"POST", "/v1/admin/users/" + id + "/logout", ""},
		{"DELETE", "", ""},
	} {
		token := here.login("oscar", password)
		there.alive(token)
		path := c[1]
		if c[0] == "DELETE" {
			list := here.want(here.do(http.MethodGet, "/v1/admin/sessions?limit=1", "", bearer(admin)), 200, "")
			path = "/v1/admin/sessions/" + list.field("next_cursor")
		}
		got := here.want(here.do(c[0], path, c[2], bearer(admin)), 202, "")
		ended := time.Now()
		if string(got.body) != fmt.Sprintf(`{"effective_within_ms":%d}`, bound.Milliseconds()) {
			t.Errorf("%s %s: %s", c[0], path, got.body)
		}
		if here.me(token).status == 200 && c[0] == "PATCH" {
			there.alive(token) // the second time nothing had to change
			continue
		}
		here.dead(token, "token_revoked")
		soon(t, there, token, "token_revoked", ended)
	}
	r := must(t, d.vars, "", "user", "role", "oscar", "user")
	if !strings.Contains(r.out, "has the role user") || !strings.Contains(r.out, "there was no login to end") {
		t.Errorf("user role says: %s", r.out)
	}
	token := here.login("oscar", password)
	r = must(t, d.vars, "", "user", "role", "oscar", "service", "--reason", "x")
	if !strings.Contains(r.out, "ended, within 1s on every instance") {
		t.Errorf("user role says: %s", r.out)
	}
	soon(t, there, token, "token_revoked", time.Now())
}
