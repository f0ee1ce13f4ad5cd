package lifecycletest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// operatorsRequests is a chapter of the story: what an operator does over HTTP
// on one instance, the other acts by, and the record has.
func operatorsRequests(t *testing.T, w *world) {
	c, there := w.client(t, w.a), w.client(t, w.b)
	password := e2e.NewPassword()
	w.keep.Password(password)
	e2e.Must(t, w.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	admin := c.Login("root", password)
	as := func(token, method, path, body string) e2e.Answer {
		t.Helper()
		return c.Do(method, "/v1/admin"+path, body, e2e.Bearer(token), e2e.Header("X-Request-Id", "an-operators-request"))
	}

	made := c.Want(as(admin, "POST", "/users", e2e.Object("username", "Oscar", "password", password, "role", "user", "reason", "new here")), 201, "")
	c.Want(as(admin, "POST", "/users", e2e.Object("username", "oscar", "password", password, "role", "user")), 409, "username_taken")
	id := made.Field("id")
	token := c.Login("oscar", password)
	there.Alive(token)
	for method, path := range map[string]string{"GET": "/users", "POST": "/logout-all", "DELETE": "/sessions/1"} {
		c.Want(as(token, method, path, ""), 403, "forbidden")
	}

	one := c.Want(as(admin, "GET", "/users/"+id, ""), 200, "")
	login, _ := one.Fields["session"].(map[string]any)
	if one.Field("username") != "oscar" || login == nil {
		t.Fatalf("GET: %s", one.Body)
	}
	session := fmt.Sprint(login["id"])
	if list := c.Want(as(admin, "GET", "/users?name=os&limit=1", ""), 200, ""); !strings.Contains(string(list.Body), id) {
		t.Errorf("by name: %s", list.Body)
	}
	if list := c.Want(as(admin, "GET", "/sessions?limit=1", ""), 200, ""); !strings.Contains(string(list.Body), session) || list.Field("next_cursor") != session {
		t.Errorf("the newest login: %s", list.Body)
	}

	// A role is part of what a login was given: no login outlives it.
	c.Want(as(admin, "PATCH", "/users/"+id, `{"role":"service","reason":"an API"}`), 200, "")
	changed := time.Now()
	c.Dead(token, "token_revoked")
	e2e.Soon(t, there, token, "token_revoked", changed)
	token = c.Login("oscar", password)
	if me := there.Alive(token); me.Field("role") != "service" {
		t.Errorf("after the change: %s", me.Body)
	}
	c.Want(as(admin, "PATCH", "/users/"+id, `{"role":"service"}`), 200, "")
	c.Alive(token) // what is so already ends nothing

	c.Alive(admin)
	root := e2e.Count(t, w.SQL(t), "SELECT id FROM users WHERE username = 'root'")
	for _, body := range []string{`{"role":"user"}`, `{"disabled":true}`} {
		c.Want(as(admin, "PATCH", fmt.Sprintf("/users/%d", root), body), 409, "last_admin")
	}
	c.Alive(admin)

	c.Want(as(admin, "POST", "/users/"+id+"/logout", `{"reason":"lost phone"}`), 204, "")
	e2e.Soon(t, there, token, "token_revoked", time.Now())
	c.Want(as(admin, "POST", "/users/"+id+"/logout", ""), 204, "")
	token = c.Login("oscar", password)
	there.Alive(token)
	list := c.Want(as(admin, "GET", "/sessions?limit=1", ""), 200, "")
	session = list.Field("next_cursor")
	c.Want(as(admin, "GET", "/sessions/"+session, ""), 200, "")
	c.Want(as(admin, "DELETE", "/sessions/"+session, ""), 204, "")
	c.Dead(token, "token_revoked")
	e2e.Soon(t, there, token, "token_revoked", time.Now())
	c.Want(as(admin, "GET", "/sessions/"+session, ""), 404, "not_found")
	c.Want(as(admin, "DELETE", "/sessions/"+session, ""), 204, "")
	c.Want(as(admin, "DELETE", "/sessions/12345", ""), 404, "not_found")
	token = c.Login("oscar", password)
	c.Want(as(admin, "PATCH", "/users/"+id, `{"disabled":true}`), 200, "")
	c.Dead(token, "account_disabled")
	e2e.Soon(t, there, token, "account_disabled", time.Now())
	c.Want(c.TryLogin("oscar", password), 403, "account_disabled")
	c.Want(as(admin, "PATCH", "/users/"+id, `{"disabled":false}`), 200, "")

	stats := c.Want(as(admin, "GET", "/stats", ""), 200, "")
	if n := e2e.Count(t, w.SQL(t), "SELECT COUNT(*) FROM users"); !strings.Contains(string(stats.Body), fmt.Sprintf(`"users":{"count":%d,"error":0}`, n)) {
		t.Errorf("%d users, and the stats are %s", n, stats.Body)
	}

	// All users, and oneself: here at once, elsewhere within the bound.
	token = there.Login("oscar", password)
	there.Alive(token)
	c.Want(as(admin, "POST", "/logout-all", `{"reason":"a leak"}`), 200, "")
	ended := time.Now()
	c.Dead(admin, "token_revoked")
	c.Dead(token, "token_revoked")
	e2e.Soon(t, there, token, "token_revoked", ended)
	e2e.Soon(t, there, admin, "token_revoked", ended)
	there.Alive(there.Login("oscar", password))

	for action, want := range map[string]int{
		"user.created": 1, "user.role_changed": 1, "user.disabled": 1, "user.enabled": 1, "login.ended": 2, "login.all_ended": 1,
	} {
		n := e2e.Count(t, w.SQL(t), "SELECT COUNT(*) FROM audit_events WHERE action = ? AND actor_id = ? AND actor = 'root' AND via = 'api' AND "+
			"request_id = 'an-operators-request' AND address LIKE '127.%'", action, root)
		if n != want {
			t.Errorf("%d events %s by root, want %d", n, action, want)
		}
	}
	// The commands, too, by the operator who typed them.
	if n := e2e.Count(t, w.SQL(t), "SELECT COUNT(*) FROM audit_events WHERE via = 'cli' AND actor_id IS NULL AND actor LIKE '%@%' AND target = 'dave'"); n != 4 {
		t.Errorf("%d events of the commands about dave, want those of disable, enable, logout and passwd", n)
	}
	if n := e2e.Count(t, w.SQL(t), "SELECT COUNT(*) FROM audit_events WHERE reason = 'lost phone' AND target_kind = 'user' AND target = 'oscar'"); n != 1 {
		t.Errorf("%d events for that reason", n)
	}
}

// When Redis cannot be notified, an operator learns by when every instance acts by
// what was done; and that is so.
func TestOperatorLearnsThatRedisWasNotNotified(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	redis := testenv.Redis(t)
	d.Vars["FLAKEPASS_REDIS"] = redis.URL()
	a, b := d.Start(t), d.Start(t)
	here, there := e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public)
	password := e2e.NewPassword()
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	admin := here.Login("root", password)
	id := here.Want(here.Do("POST", "/v1/admin/users", e2e.Object("username", "oscar", "password", password, "role", "user"), e2e.Bearer(admin)), 201, "").Field("id")
	redis.Stop()
	for _, c := range [][3]string{
		{"PATCH", "/v1/admin/users/" + id, `{"role":"service"}`},
		{"PATCH", "/v1/admin/users/" + id, `{"role":"service"}`}, // the answer may have been lost: it is answered again
		{"POST", "/v1/admin/users/" + id + "/logout", ""},
		{"DELETE", "", ""},
	} {
		token := here.Login("oscar", password)
		there.Alive(token)
		path := c[1]
		if c[0] == "DELETE" {
			list := here.Want(here.Do(http.MethodGet, "/v1/admin/sessions?limit=1", "", e2e.Bearer(admin)), 200, "")
			path = "/v1/admin/sessions/" + list.Field("next_cursor")
		}
		got := here.Want(here.Do(c[0], path, c[2], e2e.Bearer(admin)), 202, "")
		ended := time.Now()
		if string(got.Body) != fmt.Sprintf(`{"effective_within_ms":%d}`, e2e.Bound.Milliseconds()) {
			t.Errorf("%s %s: %s", c[0], path, got.Body)
		}
		if here.Me(token).Status == 200 && c[0] == "PATCH" {
			there.Alive(token) // the second time nothing had to change
			continue
		}
		here.Dead(token, "token_revoked")
		e2e.Soon(t, there, token, "token_revoked", ended)
	}
	r := e2e.Must(t, d.Vars, "", "user", "role", "oscar", "user")
	if !strings.Contains(r.Out, "has the role user") || !strings.Contains(r.Out, "there was no login to end") {
		t.Errorf("user role says: %s", r.Out)
	}
	token := here.Login("oscar", password)
	r = e2e.Must(t, d.Vars, "", "user", "role", "oscar", "service", "--reason", "x")
	if !strings.Contains(r.Out, "ended, within 1s on every instance") {
		t.Errorf("user role says: %s", r.Out)
	}
	e2e.Soon(t, there, token, "token_revoked", time.Now())
}
