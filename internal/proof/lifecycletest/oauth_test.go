package lifecycletest

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// service is the token of an account with that name and the role service.
func (w *world) service(t *testing.T, c *e2e.Client, name string) string {
	t.Helper()
	password := e2e.NewPassword()
	w.keep.Password(password)
	e2e.Must(t, w.Vars, password+"\n", "user", "add", "--role", "service", "--password-stdin", name)
	return c.Login(name, password)
}

func basicAuth(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

// oauthClients is how the libraries of other services ask, and what they are
// told, on each deployment.
func oauthClients(t *testing.T, w *world) {
	a, b := w.client(t, w.a), w.client(t, w.b)
	password := e2e.NewPassword()
	a.Want(a.Register("olga", password), 201, "")
	secret := w.service(t, a, "gateway")
	bearer, basic := "Bearer "+secret, basicAuth("gateway", secret)
	encoded := basicAuth("gateway", strings.ReplaceAll(secret, "_", "%5F"))
	token := a.Login("olga", password)

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
		got := a.Want(a.Post("/v1/introspect", request[0], request[1:]...), 200, "")
		if got.Fields["active"] != true || got.Field("username") != "olga" || got.Field("token_type") != "Bearer" || got.Field("role") != "user" {
			t.Errorf("%s: got %s", name, got.Body)
		}
	}

	got := a.Post("/v1/introspect", "token="+token, "Authorization", bearer)
	parsed, err := flakepass.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	iat, _ := got.Fields["iat"].(float64)
	exp, _ := got.Fields["exp"].(float64)
	begun, ends := time.Unix(int64(iat), 0), time.Unix(int64(exp), 0)
	if got.Field("jti") != parsed.ID().String() || got.Field("sub") == "" || time.Since(begun) > time.Hour || ends.Sub(begun) < 24*time.Hour {
		t.Errorf("got %s", got.Body)
	}

	// Neither a user nor a stranger may ask.
	a.Want(a.Post("/v1/introspect", "token="+token, "Authorization", "Bearer "+token), 403, "forbidden")
	a.Want(a.Post("/v1/revoke", "token="+token, "Authorization", basicAuth("olga", token)), 403, "forbidden")
	a.Want(a.Post("/v1/revoke", "token="+token), 401, "token_missing")
	a.Want(a.Post("/v1/revoke", "token="+token, "Authorization", basicAuth("olga", password)), 401, "token_malformed")
	a.Want(a.Post("/v1/revoke?token="+token, "x=1", "Authorization", bearer), 400, "token_in_url")
	a.Alive(token)

	// A guess ends nothing, and learns nothing.
	inactive := func(c *e2e.Client, text string) bool {
		return string(c.Want(c.Post("/v1/introspect", "token="+text, "Authorization", bearer), 200, "").Body) == `{"active":false}`
	}
	a.Want(a.Post("/v1/revoke", "token="+e2e.Forge(token), "Authorization", bearer), 200, "")
	if !inactive(a, e2e.Forge(token)) || !inactive(a, "x") || inactive(a, token) {
		t.Error("a guess is answered differently from a token of no login, or has ended the login")
	}

	b.Alive(token) // so that the other instance remembers it
	for range 2 {
		if got := a.Want(a.Post("/v1/revoke", "token="+token+"&token_type_hint=access_token", "Authorization", basic), 200, ""); len(got.Body) > 0 {
			t.Errorf("a revocation answers %s", got.Body)
		}
	}
	a.Dead(token, "token_revoked")
	if !inactive(a, token) {
		t.Error("a revoked token is active")
	}
	testenv.Eventually(t, e2e.Patience, func() bool { return b.Me(token).Status == 401 }, "the other instance refuses what was revoked")
	if !inactive(b, token) {
		t.Error("a revoked token is active elsewhere")
	}
	db := w.SQL(t)
	if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'login.ended' AND actor = 'gateway' AND via = 'api' AND target = 'olga' AND target_id = ?",
		int64(parsed.ID())); n != 1 {
		t.Errorf("%d events of the revocation, want one", n)
	}
}
