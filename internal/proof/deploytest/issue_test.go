package deploytest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// post sends a body to the example, and returns the status and the answer.
func (e *example) post(path, body string) (status int, answer string) {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.base+path, strings.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	resp, err := e.http.Do(req)
	if err != nil {
		e.t.Fatalf("%s: %v\n%s", path, err, e.log)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestSMSBackEndLogsIn: the back end of the documents logs a person in by a code, on a server
// that knows neither the person nor any password.
func TestSMSBackEndLogsIn(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	k := newKeyring(t, d, i.Public)
	e := startExampleOf(t, "example-sms", i.Public, k.make("issue").Key.Reveal())
	const phone = "+8613800138000"
	ask := func(phone string) (code string) {
		if status, body := e.post("/code", `{"phone":"`+phone+`"}`); status != http.StatusNoContent {
			t.Fatalf("ask for a code: %d %s", status, body)
		}
		testenv.Eventually(t, e2e.Patience, func() bool {
			if found := regexp.MustCompile(regexp.QuoteMeta(phone) + `: your code is ([0-9]{6})`).FindStringSubmatch(e.out.String()); found != nil {
				code = found[1]
			}
			return code != ""
		}, "the code is sent")
		return code
	}
	of := func(phone, code string) (int, flakepass.Token) {
		status, body := e.post("/login", `{"phone":"`+phone+`","code":"`+code+`","request_id":"8e03978e-40d5-43e8-bc93-6894a57f9324"}`)
		var in struct{ Token string }
		_ = json.Unmarshal([]byte(body), &in) // an error has none
		token, _ := flakepass.ParseToken(in.Token)
		return status, token
	}
	code := ask(phone)
	login := func(code string) (int, flakepass.Token) { return of(phone, code) }
	wrong := strings.Map(func(r rune) rune { return '0' + ('9' - r) }, code)
	if status, _ := login(wrong); status != http.StatusUnauthorized {
		t.Errorf("a wrong code: %d", status)
	}
	_, first := login(code)
	status, token := login(code) // the app has lost the answer
	me := step[wire.Me](t, "me")(k.As(token).Me(t.Context()))
	if status != http.StatusOK || !strings.HasPrefix(me.Username, "user-") || me.Session.Device.Class != "phone" {
		t.Errorf("%d, %+v", status, me)
	}
	_, err := k.As(first).Me(t.Context())
	failsAs(t, "the token of the lost answer", err, client.TokenReplaced)
	mine := step[[]wire.MySession](t, "sessions")(k.As(token).MySessions(t.Context()))
	if len(mine) != 1 || mine[0].AuthMethod != "sms" {
		t.Errorf("logins: %+v", mine)
	}
	// The same person again, with the same account.
	users := all(t, "users", k.Users(t.Context(), me.Username))
	if len(users) != 1 || users[0].ExternalID != phone || users[0].Role != "user" {
		t.Errorf("users: %+v", users)
	}
	// Another person, whose app calls its request the same.
	const other = "+8613800138001"
	if status, token := of(other, ask(other)); status != http.StatusOK || token.IsZero() {
		t.Errorf("another person with the same request_id: %d", status)
	}
}

// TestIssuedLoginIsToldEverywhere: how a person was authenticated comes with the token, from memory,
// from Redis and from the rows, on another instance, to a Remote and to an OAuth library.
func TestIssuedLoginIsToldEverywhere(t *testing.T) {
	e2e.OnBothStores(t, func(t *testing.T, d *e2e.Deployment) {
		one, other := d.Start(t), d.Start(t)
		k := newKeyring(t, d, one.Public)
		issuer, asks := k.make("issue"), k.make("verify")
		in := step[client.Issued](t, "issue")(k.AsService(issuer.Key).Issue(t.Context(), client.Issue{ExternalID: "crm-1", Create: true, Method: "oidc:apple", Device: wire.Device{Class: "tablet"}}))
		elsewhere, err := client.New(client.Options{URL: "http://" + other.Public})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []*client.Client{k.Client, elsewhere} {
			for range 3 { // from the row, and then from what is remembered
				who := step[client.Introspection](t, "introspect")(c.AsService(asks.Key).Introspect(t.Context(), in.Token))
				if who.AuthMethod != "oidc:apple" || who.AuthTime.Unix() != in.AuthTime.Unix() {
					t.Errorf("introspected: %+v, want that of %+v", who, in)
				}
			}
		}
		remote, err := flakepass.NewRemote(flakepass.RemoteOptions{URL: "http://" + other.Public, Timeout: e2e.Patience, Key: func(context.Context) (flakepass.ServiceKey, error) { return asks.Key, nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer remote.Close()
		for range 2 {
			who, err := remote.Verify(t.Context(), in.Token)
			if err != nil || who.AuthMethod != "oidc:apple" || !who.AuthTime.Equal(in.AuthTime.Time) {
				t.Errorf("a Remote: %+v, %v", who, err)
			}
		}
		step[client.MadeServiceKey](t, "another key")(k.CreateServiceKey(t.Context(), k.user, client.NewServiceKey{Name: "x", Scopes: []string{"issue"}}))
		if _, err := k.RevokeServiceKey(t.Context(), issuer.ID, "leaked"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*client.Client{k.Client, elsewhere} { // at once, on every instance
			_, err := c.AsService(issuer.Key).Issue(t.Context(), client.Issue{ExternalID: "crm-1", Method: "sms"})
			failsAs(t, "a key that was revoked", err, client.KeyRevoked)
		}
	})
}
