package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of deployment.sql

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// setups are the deployments on which the API must behave the same.
var setups = []struct {
	name string
	make func(testing.TB) *deployment
}{
	{"sqlite", onSQLite},
	{"mysql and redis", onMySQL},
	{"mariadb and redis", onMariaDB},
}

// A world is what the chapters of the story share.
type world struct {
	*deployment
	a, b *instance // b keeps registration closed, and takes X-Auth-Token as well
	keep *canaries
}

func (w *world) client(t testing.TB, i *instance) *client {
	c := newClient(t, i.public)
	c.keep = w.keep
	return c
}

// TestStory tells the life of accounts and logins over HTTP, in order, on each
// deployment; and then looks for the passwords and tokens in all that was
// written meanwhile.
func TestStory(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			w := &world{deployment: setup.make(t), keep: &canaries{}}
			var monitored *testenv.Journal
			if w.redis != nil {
				monitored = monitor(t, w.redis.Addr)
			}
			w.a = w.start(t)
			w.b = w.start(t, "FLAKEPASS_REGISTRATION", "closed", "FLAKEPASS_TOKEN_HEADER", "X-Auth-Token")
			for _, chapter := range []struct {
				name string
				tell func(*testing.T, *world)
			}{
				{"registration", registration},
				{"login and logout", loginAndLogout},
				{"change of password", changeOfPassword},
				{"an operator's commands", operator},
				{"an operator's requests", operatorsRequests},
				{"another instance", anotherInstance},
				{"introspection and revocation", oauthClients},
				{"request IDs", requestIDs},
				{"an operator's sweep", sweeping},
				{"expiry", expiry}, // the last one to log in: it shortens all logins
			} {
				t.Run(chapter.name, func(t *testing.T) { chapter.tell(t, w) })
			}
			t.Run("no secret was written", func(t *testing.T) { nothingWritten(t, w, monitored) })
		})
	}
}

func registration(t *testing.T, w *world) {
	c := w.client(t, w.a)
	password := newPassword()
	if got := c.want(c.register("Alice", password), 201, "").field("username"); got != "alice" {
		t.Errorf("the name is kept as %q, want alice", got)
	}
	for _, same := range []string{"alice", "ALICE", "ａｌｉｃｅ"} {
		c.want(c.register(same, password), 409, "username_taken")
	}
	bad := c.want(c.register("al", "short"), 422, "validation_failed")
	for _, part := range []string{`"field":"username","code":"too_short"`, `"field":"password","code":"too_short"`} {
		if !bytes.Contains(bad.body, []byte(part)) {
			t.Errorf("got %s, want every broken rule at once, with %s", bad.body, part)
		}
	}
	closed := w.client(t, w.b)
	closed.want(closed.register("walter", password), 403, "registration_closed")
	if n := count(t, w.sql(t), "SELECT COUNT(*) FROM users"); n != 1 {
		t.Errorf("there are %d users, want alice alone", n)
	}
	// A closed registration is no closed door.
	closed.alive(closed.login("alice", password))
}

func loginAndLogout(t *testing.T, w *world) {
	c := w.client(t, w.a)
	password := newPassword()
	c.want(c.register("bob", password), 201, "")

	// Nobody can tell a name that exists from one that does not.
	id := header("X-Request-Id", "the-same-in-both")
	wrong := c.want(c.do("POST", "/v1/login", object("username", "bob", "password", newPassword()), id), 401, "credentials_invalid")
	unknown := c.want(c.do("POST", "/v1/login", object("username", "bobby", "password", newPassword()), id), 401, "credentials_invalid")
	if !bytes.Equal(wrong.body, unknown.body) {
		t.Errorf("a wrong password and an unknown name are told apart:\n%s\n%s", wrong.body, unknown.body)
	}

	opened := c.want(c.tryLogin("BOB", password), 200, "")
	first := opened.field("token")
	w.keep.token(first)
	me := c.alive(first)
	session, _ := me.fields["session"].(map[string]any)
	if me.field("username") != "bob" || me.field("role") != "user" || session["id"] != opened.field("session_id") {
		t.Errorf("me: %s", me.body)
	}
	c.want(c.do("GET", "/v1/me", "", header("Authorization", "bEARER   "+first)), 200, "")

	verify := c.want(c.do("GET", "/v1/verify", "", bearer(first)), 200, "")
	if h := verify.header; h.Get("X-Auth-Username") != "bob" || h.Get("X-Auth-Role") != "user" ||
		h.Get("X-Auth-Session-Id") != opened.field("session_id") || h.Get("X-Auth-User-Id") == "" || len(verify.body) > 0 {
		t.Errorf("verify: %v %q", h, verify.body)
	}

	second := c.login("bob", password)
	for range 3 { // once and for all
		c.dead(first, "token_replaced")
	}
	c.alive(second)
	c.want(c.logout(first), 204, "") // the login that replaced it goes on
	c.alive(second)
	c.want(c.logout(second), 204, "")
	c.dead(second, "token_logged_out")
	c.want(c.do("GET", "/v1/verify", "", bearer(second)), 401, "token_logged_out")
	c.want(c.logout(second), 204, "")
	c.dead(second, "token_logged_out")

	c.want(c.do("POST", "/v1/logout", ""), 401, "token_missing")
	c.want(c.do("GET", "/v1/me", ""), 401, "token_missing")
	c.want(c.do("GET", "/v1/me", "", header("Authorization", "Basic Ym9iOmJvYg==")), 401, "token_missing")
	// An ID alone, with somebody's own secret, opens nothing and tells nothing.
	third := c.login("bob", password)
	forged := forge(third)
	w.keep.token(forged)
	c.dead(forged, "token_invalid")
	c.want(c.logout(forged), 204, "")
	c.alive(third)
}

func changeOfPassword(t *testing.T, w *world) {
	c := w.client(t, w.a)
	before, after := newPassword(), newPassword()
	w.keep.password(after)
	c.want(c.register("carol", before), 201, "")
	token := c.login("carol", before)
	change := func(current, next string) answer {
		w.keep.password(current)
		return c.do("PUT", "/v1/me/password", object("current_password", current, "new_password", next), bearer(token))
	}
	c.want(change(newPassword(), after), 403, "current_password_invalid")
	short := c.want(change(before, "short"), 422, "validation_failed")
	if !bytes.Contains(short.body, []byte(`"field":"new_password"`)) {
		t.Errorf("got %s, want the field named new_password", short.body)
	}
	c.alive(token)
	c.want(change(before, after), 204, "")
	c.dead(token, "token_revoked")
	c.want(change(after, before), 401, "token_revoked")
	c.want(c.tryLogin("carol", before), 401, "credentials_invalid")
	c.alive(c.login("carol", after))
}

// soon fails the test unless the token is refused for that reason within the
// bound: no request that began later than that after the end is let through.
func soon(t testing.TB, c *client, token, code string, ended time.Time) {
	t.Helper()
	testenv.Eventually(t, patience, func() bool {
		asked := time.Now()
		a := c.me(token)
		if a.status != 200 {
			c.want(a, 401, code)
			return true
		}
		if late := asked.Sub(ended); late > bound {
			t.Fatalf("accepted %v after the end, want at most %v", late, bound)
		}
		return false
	}, "the token is not refused")
}

func operator(t *testing.T, w *world) {
	c := w.client(t, w.a)
	password := newPassword()
	c.want(c.register("dave", password), 201, "")
	token := c.login("dave", password)
	c.alive(token)

	r := must(t, w.vars, "", "user", "disable", "dave")
	ended := time.Now()
	if !strings.Contains(r.out, "disabled") || !strings.Contains(r.out, "on every instance") {
		t.Errorf("disable: %q", r.out)
	}
	soon(t, c, token, "account_disabled", ended)
	c.want(c.tryLogin("dave", newPassword()), 401, "credentials_invalid")
	c.want(c.tryLogin("dave", password), 403, "account_disabled")

	must(t, w.vars, "", "user", "enable", "dave")
	c.dead(token, "account_disabled") // the login that ended stays ended
	token = c.login("dave", password)
	c.alive(token)

	must(t, w.vars, "", "user", "logout", "dave")
	soon(t, c, token, "token_revoked", time.Now())
	token = c.login("dave", password)
	c.alive(token)

	next := newPassword()
	w.keep.password(next)
	must(t, w.vars, next+"\n", "user", "passwd", "dave", "--password-stdin")
	soon(t, c, token, "token_revoked", time.Now())
	c.want(c.tryLogin("dave", password), 401, "credentials_invalid")
	c.alive(c.login("dave", next))
}

func anotherInstance(t *testing.T, w *world) {
	a, b := w.client(t, w.a), w.client(t, w.b)
	password := newPassword()
	a.want(a.register("erin", password), 201, "")
	token := a.login("erin", password)
	b.alive(token)
	b.want(b.do("GET", "/v1/me", "", header("X-Auth-Token", token)), 200, "")
	b.want(b.do("GET", "/v1/me", "", header("X-Auth-Token", token), bearer(token)), 200, "")
	a.want(a.do("GET", "/v1/me", "", header("X-Auth-Token", token)), 401, "token_missing") // not configured there

	b.want(b.do("GET", "/v1/me", "", header("X-Auth-Token", token), bearer(forge(token))), 400, "credentials_ambiguous")
	b.want(b.do("GET", "/v1/me", "", header("X-Auth-Token", token), header("Authorization", "Basic Zm9vOmJhcg==")), 400, "credentials_ambiguous")

	next := a.login("erin", password)
	replaced := time.Now()
	soon(t, b, token, "token_replaced", replaced)
	b.alive(next)
	a.want(a.logout(next), 204, "")
	soon(t, b, next, "token_logged_out", time.Now())
	a.dead(next, "token_logged_out")
}

func requestIDs(t *testing.T, w *world) {
	c := w.client(t, w.a)
	for given, keep := range map[string]bool{
		"0123.abc_DEF-9":        true,
		strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false,
		"short":                 false,
		"with a space":          false,
		`quote"and<tag>`:        false,
		"ümlaut-and-more":       false,
	} {
		got := c.do("GET", "/v1/me", "", header("X-Request-Id", given)).header.Get("X-Request-Id")
		if (got == given) != keep || len(got) < 8 {
			t.Errorf("the request %q is called %q, want its own name kept: %v", given, got, keep)
		}
	}
	if got := c.do("GET", "/healthz", "", header("X-Request-Id", "first-name", "second-name")).header.Get("X-Request-Id"); strings.HasSuffix(got, "-name") {
		t.Errorf("a request with two names is called %q", got)
	}
	one, two := c.do("GET", "/healthz", "").header.Get("X-Request-Id"), c.do("GET", "/healthz", "").header.Get("X-Request-Id")
	if one == two {
		t.Errorf("two requests are both called %q", one)
	}
	if !strings.Contains(w.a.log.String(), "0123.abc_DEF-9") {
		t.Error("the log does not know a request by the name that its client gave it")
	}
}
