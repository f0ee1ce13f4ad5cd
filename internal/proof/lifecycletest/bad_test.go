package lifecycletest

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// A bad request and how it is refused.
type bad struct {
	name   string
	body   string
	kind   []string // the Content-Type headers; nil means application/json
	status int
	code   string
}

const jsonKind = "application/json"

// badBodies are wrong for both registration and login; registration says 422
// where status422 is set, and login 401, since there a bad field is a wrong one.
func badBodies() []bad {
	malformed := func(name, body string) bad { return bad{name, body, nil, 400, "body_malformed"} }
	good := e2e.Object("username", "mallory", "password", "violet tram sings at noon")
	typed := func(name string, kind ...string) bad { return bad{name, good, kind, 415, "media_type_unsupported"} }
	return []bad{
		malformed("no JSON", `username=mallory`),
		malformed("an array", `[]`),
		malformed("a string", `"x"`),
		malformed("a number", `1`),
		malformed("null", `null`),
		malformed("cut short", good[:len(good)-1]),
		malformed("a byte order mark", "\ufeff"+good),
		malformed("a name that is a number", `{"username":7,"password":"violet tram sings at noon"}`),
		malformed("a name that is null", `{"username":null,"password":"violet tram sings at noon"}`),
		malformed("a password that is an object", `{"username":"mallory","password":{"$gt":""}}`),
		malformed("a password that is a list", `{"username":"mallory","password":["violet tram sings at noon"]}`),
		malformed("a password that is true", `{"username":"mallory","password":true}`),
		malformed("an unknown field", `{"username":"mallory","password":"violet tram sings at noon","role":"admin"}`),
		malformed("a key twice", `{"username":"mallory","username":"root","password":"violet tram sings at noon"}`),
		malformed("a key twice, once escaped", `{"username":"mallory","usern\u0061me":"root","password":"violet tram sings at noon"}`),
		malformed("a key in another case", `{"Username":"mallory","password":"violet tram sings at noon"}`),
		malformed("a key in another case beside it", `{"username":"mallory","password":"violet tram sings at noon","PASSWORD":"x"}`),
		malformed("a key with a folded letter", `{"username":"mallory","paſſword":"violet tram sings at noon"}`),
		malformed("something after it", good+`{}`),
		malformed("a comment", good+` // or`),
		malformed("a comma too many", `{"username":"mallory","password":"violet tram sings at noon",}`),
		malformed("single quotes", `{'username':'mallory','password':'violet tram sings at noon'}`),
		malformed("invalid UTF-8", "{\"username\":\"mall\xffory\",\"password\":\"violet tram sings at noon\"}"),
		malformed("overlong UTF-8", "{\"username\":\"mall\xc0\xafory\",\"password\":\"violet tram sings at noon\"}"),
		malformed("a raw NUL", "{\"username\":\"mall\x00ory\",\"password\":\"violet tram sings at noon\"}"),
		malformed("a raw line break", "{\"username\":\"mall\r\nory\",\"password\":\"violet tram sings at noon\"}"),
		malformed("a lone high surrogate", `{"username":"mallory","password":"violet tram \ud83d sings at noon"}`),
		malformed("a lone low surrogate", `{"username":"mall\ude00ory","password":"violet tram sings at noon"}`),
		malformed("deep nesting", `{"username":`+strings.Repeat("[", 8000)),
		malformed("deep nesting, closed", `{"a":`+strings.Repeat("[", 4000)+strings.Repeat("]", 4000)+`}`),
		malformed("a number that is no float", `{"username":`+strings.Repeat("9", 8000)+`}`),
		{"one byte too many", good + strings.Repeat(" ", 8193-len(good)), nil, 413, "body_too_large"},
		{"a megabyte", `{"username":"` + strings.Repeat("m", 1<<20) + `"}`, nil, 413, "body_too_large"},
		typed("no content type", []string{}...),
		typed("text/plain", "text/plain"),
		typed("a form", "application/x-www-form-urlencoded"),
		typed("another JSON", "application/json5"),
		typed("latin1", "application/json; charset=latin1"),
		typed("UTF-16", "application/json;charset=UTF-16LE"),
		typed("a broken parameter", "application/json; charset"),
		typed("a list", "application/json, text/plain"),
	}
}

// badFields can be read, and break a rule: 422 at registration.
func badFields() map[string]string {
	const password = "violet tram sings at noon"
	return map[string]string{
		"nothing":                  `{}`,
		"no password":              `{"username":"mallory"}`,
		"no name":                  e2e.Object("password", password),
		"empty":                    e2e.Object("username", "", "password", ""),
		"a NUL in the name":        `{"username":"mall\u0000ory","password":"` + password + `"}`,
		"a line break in the name": e2e.Object("username", "mall\r\nory", "password", password),
		"a space in the name":      e2e.Object("username", "mall ory", "password", password),
		"a path":                   e2e.Object("username", "../../etc", "password", password),
		"markup":                   e2e.Object("username", "<script>", "password", password),
		"SQL":                      e2e.Object("username", "x'; DROP TABLE users;--", "password", password),
		"two scripts":              e2e.Object("username", "mаllory", "password", password), // with a Cyrillic a
		"right to left":            e2e.Object("username", "mallory\u202eyrollam", "password", password),
		"a zero-width joiner":      e2e.Object("username", "mall\u200dory", "password", password),
		"a long name":              e2e.Object("username", strings.Repeat("m", 65), "password", password),
		"a very long name":         e2e.Object("username", strings.Repeat("m", 4000), "password", password),
		"a very long name, folded": e2e.Object("username", strings.Repeat("ﬃ", 1300), "password", password),
		"a NUL in the password":    `{"username":"mallory","password":"violet tram \u0000 sings at noon"}`,
		"a short password":         e2e.Object("username", "mallory", "password", "violet tram"),
		"a long password":          e2e.Object("username", "mallory", "password", strings.Repeat("violet ", 37)),
		"a very long password":     e2e.Object("username", "mallory", "password", strings.Repeat("violet ", 1000)),
		"a password of marks":      e2e.Object("username", "mallory", "password", "a"+strings.Repeat("\u0301", 2000)),
		"the name in the password": e2e.Object("username", "mallory", "password", "mallory sings at noon"),
		"a common password":        e2e.Object("username", "mallory", "password", "aaaaaaaaaaaaaaaa"),
	}
}

// TestBadInput sends what no client should send. All of it is refused with a
// problem that the contract lists; nothing is written, nothing panics.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for _, setup := range setups[:2] {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			i := d.Start(t, "FLAKEPASS_TOKEN_HEADER", "X-Auth-Token")
			keep := &e2e.Canaries{}
			c := e2e.NewClient(t, i.Public)
			c.Keep = keep
			password := e2e.NewPassword()
			c.Want(c.Register("straße", password), 422, "validation_failed")
			c.Want(c.Register("jörg", password), 201, "")
			token := c.Login("jörg", password)
			db := d.SQL(t)
			before := e2e.Count(t, db, "SELECT COUNT(*) FROM users")

			t.Run("bodies", func(t *testing.T) { badBodiesRefused(t, i, token) })
			t.Run("fields", func(t *testing.T) { badFieldsRefused(t, i) })
			t.Run("one name in many forms", func(t *testing.T) {
				c := e2e.NewClient(t, i.Public)
				for _, same := range []string{"jo\u0308rg", "JÖRG", "ｊöｒｇ", "JO\u0308RG"} {
					c.Want(c.Register(same, password), 409, "username_taken")
				}
				c.Want(c.Register("jorg", "short"), 422, "validation_failed")
				c.Want(c.TryLogin("jorg", password), 401, "credentials_invalid")
			})
			t.Run("tokens", func(t *testing.T) { badTokensRefused(t, i, keep, token) })
			t.Run("methods and paths", func(t *testing.T) { badRoutesRefused(t, i, token) })
			t.Run("raw", func(t *testing.T) { badMessagesRefused(t, i, token) })

			if after := e2e.Count(t, db, "SELECT COUNT(*) FROM users"); after != before {
				t.Errorf("there are %d users, before the bad requests there were %d", after, before)
			}
			c.Alive(token)
			keep.Absent(t, "the log", []byte(i.Log.String()))
		})
	}
}

func badBodiesRefused(t *testing.T, i *e2e.Instance, token string) {
	c := e2e.NewClient(t, i.Public)
	for _, b := range badBodies() {
		for _, to := range []struct{ method, path string }{
			{"POST", "/v1/register"}, {"POST", "/v1/login"}, {"PUT", "/v1/me/password"},
		} {
			kind := e2e.Header("Content-Type", jsonKind)
			if b.kind != nil || b.status == 415 {
				kind = e2e.Header("Content-Type", b.kind...)
			}
			a := c.Do(to.method, to.path, b.body, kind, e2e.Bearer(token))
			if a.Status != b.status || a.Field("code") != b.code {
				t.Errorf("%s, %s: got %d %q, want %d %q", to.path, b.name, a.Status, a.Field("code"), b.status, b.code)
			}
			if strings.Contains(string(a.Body), "mallory") || strings.Contains(string(a.Body), "violet") {
				t.Errorf("%s, %s: the answer repeats what was sent", to.path, b.name)
			}
		}
	}
	// As large as it may be, it is read.
	good := e2e.Object("username", "nobody", "password", "violet tram sings at noon")
	c.Want(c.Do("POST", "/v1/login", good+strings.Repeat(" ", 8192-len(good)),
		e2e.Header("Content-Type", "Application/JSON; charset=UTF-8")), 401, "credentials_invalid")
}

func badFieldsRefused(t *testing.T, i *e2e.Instance) {
	c := e2e.NewClient(t, i.Public)
	for name, body := range badFields() {
		if a := c.Do("POST", "/v1/register", body); a.Status != 422 || a.Field("code") != "validation_failed" {
			t.Errorf("register, %s: got %d %q, want 422", name, a.Status, a.Field("code"))
		}
	}
	for _, name := range []string{"nothing", "empty", "a NUL in the name", "SQL", "a very long name", "a very long password"} {
		if a := c.Do("POST", "/v1/login", badFields()[name]); a.Status != 401 || a.Field("code") != "credentials_invalid" {
			t.Errorf("login, %s: got %d %q, want 401", name, a.Status, a.Field("code"))
		}
	}
}
