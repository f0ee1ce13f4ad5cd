package main

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// service is the token of an account with that name and the role service.
func (w *world) service(t *testing.T, c *client, name string) string {
	t.Helper()
	password := newPassword()
	w.keep.password(password)
	must(t, w.vars, password+"\n", "user", "add", "--role", "service", "--password-stdin", name)
	return c.login(name, password)
}

// form makes of a request one that an OAuth library sends.
func form(headers ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
}

func (c *client) post(path, body string, headers ...string) answer {
	c.t.Helper()
	return c.do("POST", path, body, form(headers...))
}

func basicAuth(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

// oauthClients is how the libraries of other services ask, and what they are
// told, on each deployment.
func oauthClients(t *testing.T, w *world) {
	a, b := w.client(t, w.a), w.client(t, w.b)
	password := newPassword()
	a.want(a.register("olga", password), 201, "")
	secret := w.service(t, a, "gateway")
	bearer, basic := "Bearer "+secret, basicAuth("gateway", secret)
	encoded := basicAuth("gateway", strings.ReplaceAll(secret, "_", "%5F"))
	token := a.login("olga", password)

	// As the libraries write it, down to the letter.
	for name, request := range map[string][]string{
		"RFC 7662, section 2.1": {"token=" + token + "&token_type_hint=access_token", "Accept", "application/json", "Authorization", bearer},
		"Spring Security": {"token=" + token, "Accept", "application/json",
			"Content-Type", "application/x-www-form-urlencoded;charset=UTF-8", "Authorization", basic},
		"Spring Security 7":                      {"token=" + token, "Accept", "application/json", "Content-Type", "application/x-www-form-urlencoded", "Authorization", encoded},
		"lua-resty-openidc, for APISIX and Kong": {"client_id=gateway&client_secret=" + secret + "&token=" + token, "Authorization", basic},
		"Apache mod_auth_openidc":                {"token=" + token + "&token_type_hint=access_token", "Authorization", encoded},
		"Traefik plugins, lower case":            {"token_type_hint=requesting_party_token&token=" + token, "Authorization", "bearer " + secret},
		"curl -u":                                {"token=" + token, "Accept", "*/*", "User-Agent", "curl/8.5.0", "Authorization", basic},
		"curl -u with no name":                   {"token=" + token, "Authorization", basicAuth("", secret)},
		"capitals":                               {"token=" + token, "Content-Type", "APPLICATION/X-WWW-FORM-URLENCODED; CHARSET=UTF-8", "Authorization", "BEARER " + secret},
	} {
		got := a.want(a.post("/v1/introspect", request[0], request[1:]...), 200, "")
		if got.fields["active"] != true || got.field("username") != "olga" || got.field("token_type") != "Bearer" || got.field("role") != "user" {
			t.Errorf("%s: got %s", name, got.body)
		}
	}

	got := a.post("/v1/introspect", "token="+token, "Authorization", bearer)
	parsed, err := flakepass.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	iat, _ := got.fields["iat"].(float64)
	exp, _ := got.fields["exp"].(float64)
	begun, ends := time.Unix(int64(iat), 0), time.Unix(int64(exp), 0)
	if got.field("jti") != parsed.ID().String() || got.field("sub") == "" || time.Since(begun) > time.Hour || ends.Sub(begun) < 24*time.Hour {
		t.Errorf("got %s", got.body)
	}

	// Neither a user nor a stranger may ask.
	a.want(a.post("/v1/introspect", "token="+token, "Authorization", "Bearer "+token), 403, "forbidden")
	a.want(a.post("/v1/revoke", "token="+token, "Authorization", basicAuth("olga", token)), 403, "forbidden")
	a.want(a.post("/v1/revoke", "token="+token), 401, "token_missing")
	a.want(a.post("/v1/revoke", "token="+token, "Authorization", basicAuth("olga", password)), 401, "token_malformed")
	a.want(a.post("/v1/revoke?token="+token, "x=1", "Authorization", bearer), 400, "token_in_url")
	a.alive(token)

	// A guess ends nothing, and is told nothing.
	inactive := func(c *client, text string) bool {
		return string(c.want(c.post("/v1/introspect", "token="+text, "Authorization", bearer), 200, "").body) == `{"active":false}`
	}
	a.want(a.post("/v1/revoke", "token="+forge(token), "Authorization", bearer), 200, "")
	if !inactive(a, forge(token)) || !inactive(a, "x") || inactive(a, token) {
		t.Error("a guess is told from nothing, or has ended the login")
	}

	b.alive(token) // so that the other instance remembers it
	for range 2 {
		if got := a.want(a.post("/v1/revoke", "token="+token+"&token_type_hint=access_token", "Authorization", basic), 200, ""); len(got.body) > 0 {
			t.Errorf("a revocation answers %s", got.body)
		}
	}
	a.dead(token, "token_revoked")
	if !inactive(a, token) {
		t.Error("a revoked token is active")
	}
	testenv.Eventually(t, patience, func() bool { return b.me(token).status == 401 }, "the other instance refuses what was revoked")
	if !inactive(b, token) {
		t.Error("a revoked token is active elsewhere")
	}
	db := w.sql(t)
	if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'login.ended' AND actor = 'gateway' AND via = 'api' AND target = 'olga' AND target_id = ?",
		int64(parsed.ID())); n != 1 {
		t.Errorf("%d events of the revocation, want one", n)
	}
}
