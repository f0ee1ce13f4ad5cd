package lifecycletest

import (
	"bytes"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// the driver of deployment.sql

// setups are the deployments on which the API must behave the same.
var setups = []struct {
	name string
	make func(testing.TB) *e2e.Deployment
}{
	{"sqlite", e2e.OnSQLite},
	{"mysql and redis", e2e.OnMySQL},
	{"mariadb and redis", e2e.OnMariaDB},
}

// A world is what the chapters of the story share.
type world struct {
	*e2e.Deployment
	a, b *e2e.Instance // b keeps registration closed, and takes X-Auth-Token as well
	keep *e2e.Canaries
}

func (w *world) client(t testing.TB, i *e2e.Instance) *e2e.Client {
	c := e2e.NewClient(t, i.Public)
	c.Keep = w.keep
	return c
}

// TestStory is the life of accounts and logins over HTTP, in order, on each
// deployment; and then looks for the passwords and tokens in all that was
// written meanwhile.
func TestStory(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			w := &world{Deployment: setup.make(t), keep: &e2e.Canaries{}}
			var monitored *testenv.Journal
			if w.Redis != nil {
				monitored = monitor(t, w.Redis.Addr)
			}
			w.a = w.Start(t)
			w.b = w.Start(t, "FLAKEPASS_REGISTRATION", "closed", "FLAKEPASS_TOKEN_HEADER", "X-Auth-Token")
			for _, chapter := range []struct {
				name string
				run  func(*testing.T, *world)
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
				t.Run(chapter.name, func(t *testing.T) { chapter.run(t, w) })
			}
			t.Run("no secret was written", func(t *testing.T) { nothingWritten(t, w, monitored) })
		})
	}
}

func registration(t *testing.T, w *world) {
	c := w.client(t, w.a)
	password := e2e.NewPassword()
	if got := c.Want(c.Register("Alice", password), 201, "").Field("username"); got != "alice" {
		t.Errorf("the name is kept as %q, want alice", got)
	}
	for _, same := range []string{"alice", "ALICE", "ａｌｉｃｅ"} {
		c.Want(c.Register(same, password), 409, "username_taken")
	}
	bad := c.Want(c.Register("al", "short"), 422, "validation_failed")
	for _, part := range []string{`"field":"username","code":"too_short"`, `"field":"password","code":"too_short"`} {
		if !bytes.Contains(bad.Body, []byte(part)) {
			t.Errorf("got %s, want every broken rule at once, with %s", bad.Body, part)
		}
	}
	closed := w.client(t, w.b)
	closed.Want(closed.Register("walter", password), 403, "registration_closed")
	if n := e2e.Count(t, w.SQL(t), "SELECT COUNT(*) FROM users"); n != 1 {
		t.Errorf("there are %d users, want alice alone", n)
	}
	// With the registration closed a login still works.
	closed.Alive(closed.Login("alice", password))
}

func loginAndLogout(t *testing.T, w *world) {
	c := w.client(t, w.a)
	password := e2e.NewPassword()
	c.Want(c.Register("bob", password), 201, "")

	// A name that exists cannot be distinguished from one that does not.
	id := e2e.Header("X-Request-Id", "the-same-in-both")
	wrong := c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "bob", "password", e2e.NewPassword()), id), 401, "credentials_invalid")
	unknown := c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "bobby", "password", e2e.NewPassword()), id), 401, "credentials_invalid")
	if !bytes.Equal(wrong.Body, unknown.Body) {
		t.Errorf("a wrong password and an unknown name are answered differently:\n%s\n%s", wrong.Body, unknown.Body)
	}

	opened := c.Want(c.TryLogin("BOB", password), 200, "")
	first := opened.Field("token")
	w.keep.Token(first)
	me := c.Alive(first)
	session, _ := me.Fields["session"].(map[string]any)
	if me.Field("username") != "bob" || me.Field("role") != "user" || session["id"] != opened.Field("session_id") {
		t.Errorf("me: %s", me.Body)
	}
	c.Want(c.Do("GET", "/v1/me", "", e2e.Header("Authorization", "bEARER   "+first)), 200, "")

	verify := c.Want(c.Do("GET", "/v1/verify", "", e2e.Bearer(first)), 200, "")
	if h := verify.Header; h.Get("X-Auth-Username") != "bob" || h.Get("X-Auth-Role") != "user" ||
		h.Get("X-Auth-Session-Id") != opened.Field("session_id") || h.Get("X-Auth-User-Id") == "" || len(verify.Body) > 0 {
		t.Errorf("verify: %v %q", h, verify.Body)
	}

	second := c.Login("bob", password)
	for range 3 { // once and for all
		c.Dead(first, "token_replaced")
	}
	c.Alive(second)
	c.Want(c.Logout(first), 204, "") // the login that replaced it goes on
	c.Alive(second)
	c.Want(c.Logout(second), 204, "")
	c.Dead(second, "token_logged_out")
	c.Want(c.Do("GET", "/v1/verify", "", e2e.Bearer(second)), 401, "token_logged_out")
	c.Want(c.Logout(second), 204, "")
	c.Dead(second, "token_logged_out")

	c.Want(c.Do("POST", "/v1/logout", ""), 401, "token_missing")
	c.Want(c.Do("GET", "/v1/me", ""), 401, "token_missing")
	c.Want(c.Do("GET", "/v1/me", "", e2e.Header("Authorization", "Basic Ym9iOmJvYg==")), 401, "token_missing")
	// An ID alone, with a secret of another login, opens nothing and shows nothing.
	third := c.Login("bob", password)
	forged := e2e.Forge(third)
	w.keep.Token(forged)
	c.Dead(forged, "token_invalid")
	c.Want(c.Logout(forged), 204, "")
	c.Alive(third)
}

func changeOfPassword(t *testing.T, w *world) {
	c := w.client(t, w.a)
	before, after := e2e.NewPassword(), e2e.NewPassword()
	w.keep.Password(after)
	c.Want(c.Register("carol", before), 201, "")
	token := c.Login("carol", before)
	change := func(current, next string) e2e.Answer {
		w.keep.Password(current)
		return c.Do("PUT", "/v1/me/password", e2e.Object("current_password", current, "new_password", next), e2e.Bearer(token))
	}
	c.Want(change(e2e.NewPassword(), after), 403, "current_password_invalid")
	short := c.Want(change(before, "short"), 422, "validation_failed")
	if !bytes.Contains(short.Body, []byte(`"field":"new_password"`)) {
		t.Errorf("got %s, want the field named new_password", short.Body)
	}
	c.Alive(token)
	c.Want(change(before, after), 204, "")
	c.Dead(token, "token_revoked")
	c.Want(change(after, before), 401, "token_revoked")
	c.Want(c.TryLogin("carol", before), 401, "credentials_invalid")
	c.Alive(c.Login("carol", after))
}

func operator(t *testing.T, w *world) {
	c := w.client(t, w.a)
	password := e2e.NewPassword()
	c.Want(c.Register("dave", password), 201, "")
	token := c.Login("dave", password)
	c.Alive(token)

	r := e2e.Must(t, w.Vars, "", "user", "disable", "dave")
	ended := time.Now()
	if !strings.Contains(r.Out, "disabled") || !strings.Contains(r.Out, "on every instance") {
		t.Errorf("disable: %q", r.Out)
	}
	e2e.Soon(t, c, token, "account_disabled", ended)
	c.Want(c.TryLogin("dave", e2e.NewPassword()), 401, "credentials_invalid")
	c.Want(c.TryLogin("dave", password), 403, "account_disabled")

	e2e.Must(t, w.Vars, "", "user", "enable", "dave")
	c.Dead(token, "account_disabled") // the login that ended stays ended
	token = c.Login("dave", password)
	c.Alive(token)

	e2e.Must(t, w.Vars, "", "user", "logout", "dave")
	e2e.Soon(t, c, token, "token_revoked", time.Now())
	token = c.Login("dave", password)
	c.Alive(token)

	next := e2e.NewPassword()
	w.keep.Password(next)
	e2e.Must(t, w.Vars, next+"\n", "user", "passwd", "dave", "--password-stdin")
	e2e.Soon(t, c, token, "token_revoked", time.Now())
	c.Want(c.TryLogin("dave", password), 401, "credentials_invalid")
	c.Alive(c.Login("dave", next))
}

func anotherInstance(t *testing.T, w *world) {
	a, b := w.client(t, w.a), w.client(t, w.b)
	password := e2e.NewPassword()
	a.Want(a.Register("erin", password), 201, "")
	token := a.Login("erin", password)
	b.Alive(token)
	b.Want(b.Do("GET", "/v1/me", "", e2e.Header("X-Auth-Token", token)), 200, "")
	b.Want(b.Do("GET", "/v1/me", "", e2e.Header("X-Auth-Token", token), e2e.Bearer(token)), 200, "")
	a.Want(a.Do("GET", "/v1/me", "", e2e.Header("X-Auth-Token", token)), 401, "token_missing") // not configured there

	b.Want(b.Do("GET", "/v1/me", "", e2e.Header("X-Auth-Token", token), e2e.Bearer(e2e.Forge(token))), 400, "credentials_ambiguous")
	b.Want(b.Do("GET", "/v1/me", "", e2e.Header("X-Auth-Token", token), e2e.Header("Authorization", "Basic Zm9vOmJhcg==")), 400, "credentials_ambiguous")

	next := a.Login("erin", password)
	replaced := time.Now()
	e2e.Soon(t, b, token, "token_replaced", replaced)
	b.Alive(next)
	a.Want(a.Logout(next), 204, "")
	e2e.Soon(t, b, next, "token_logged_out", time.Now())
	a.Dead(next, "token_logged_out")
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
		got := c.Do("GET", "/v1/me", "", e2e.Header("X-Request-Id", given)).Header.Get("X-Request-Id")
		if (got == given) != keep || len(got) < 8 {
			t.Errorf("the request %q is called %q, want its own name kept: %v", given, got, keep)
		}
	}
	if got := c.Do("GET", "/healthz", "", e2e.Header("X-Request-Id", "first-name", "second-name")).Header.Get("X-Request-Id"); strings.HasSuffix(got, "-name") {
		t.Errorf("a request with two names is called %q", got)
	}
	one, two := c.Do("GET", "/healthz", "").Header.Get("X-Request-Id"), c.Do("GET", "/healthz", "").Header.Get("X-Request-Id")
	if one == two {
		t.Errorf("two requests are both called %q", one)
	}
	if !strings.Contains(w.a.Log.String(), "0123.abc_DEF-9") {
		t.Error("the log does not know a request by the name that its client gave it")
	}
}
