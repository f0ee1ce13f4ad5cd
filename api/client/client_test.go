package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
)

func TestNewSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for what, o := range map[string]client.Options{
		"no URL": {}, "no scheme": {URL: "auth.example.org"}, "no host": {URL: "https://"}, "a port only": {URL: "https://:443"},
		"a user": {URL: "https://a:b@auth.example.org"}, "a query": {URL: "https://auth.example.org/?a=b"},
		"a scheme of others": {URL: "ftp://auth.example.org"},
		"retries below 0":    {URL: "https://a", Retries: -1}, "a page of 201": {URL: "https://a", PageSize: 201},
	} {
		if _, err := client.New(o); err == nil || strings.Contains(err.Error(), "a:b") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// served is a client of a server that does that.
func served(t *testing.T, do http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(do)
	t.Cleanup(s.Close)
	c, err := client.New(client.Options{URL: s.URL + "/below", HTTP: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c.As(flakepass.NewToken(7))
}

// TestTicketStandsForThePassword: who goes on after a refusal with the same credentials sends
// the ticket only. The server refuses both together.
func TestTicketStandsForThePassword(t *testing.T) {
	t.Parallel()
	var body string
	c := served(t, func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
	})
	_, _ = c.Login(t.Context(), client.Credentials{
		Username: "alice", Password: client.NewPassword("a secret"), Code: "123456", Ticket: client.NewTicket("the-ticket"), EndSession: 7,
	})
	if !strings.Contains(body, "the-ticket") || strings.Contains(body, "alice") || strings.Contains(body, "a secret") || strings.Contains(body, "123456") {
		t.Errorf("sent %s", body)
	}
}

// TestTokenGoesNowhereElse: a redirect is an error that names the address, and
// that address is not called.
func TestTokenGoesNowhereElse(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := served(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+"/secret", status) })
		_, err := c.Me(t.Context())
		if !errors.Is(err, client.ErrAnswer) || !strings.Contains(err.Error(), elsewhere.URL) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d: %v", status, err)
		}
		if _, err := c.Logout(t.Context()); !errors.Is(err, client.ErrAnswer) {
			t.Errorf("logout, %d: %v", status, err)
		}
	}
}

// TestOnlyAnswersOfFlakepassAreBelieved: whatever else stands at the URL, the
// result is an error and never an empty answer.
func TestOnlyAnswersOfFlakepassAreBelieved(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]struct{ kind, body string }{
		"a page":              {"text/html", "<html>welcome</html>"},
		"an object of others": {"application/json", `{}`},
		"null":                {"application/json", `null`},
		"a list":              {"application/json", `[]`},
		"a part":              {"application/json", `{"username":"alice"`},
		"no session":          {"application/json", `{"username":"alice","role":"user"}`},
		"something after it":  {"application/json", `{} {}`},
		"a number for an ID":  {"application/json", `{"username":"alice","role":"user","session":{"id":7}}`},
		"an act of nobody": {"application/json", `{"username":"alice","role":"user","session":{"id":"7","device":{"class":"phone"},"issued_at":"2026-11-21T09:12:33.123Z",` +
			`"last_seen_at":"2026-11-21T09:12:33.123Z","expires_at":"2026-12-21T09:12:33.123Z","idle_expires_at":"2026-12-01T09:12:33.123Z","act":{}}}`},
		"a token and an act of nobody": {"application/json", `{"active":true,"sub":"7","username":"alice","role":"user","jti":"9","iat":1795252353,"exp":1796470800,"act":{}}`},
		"JSON that says it not":        {"text/plain", `{}`},
		"too much":                     {"application/json", `{"x":"` + strings.Repeat("x", 5<<20) + `"}`},
	} {
		c := served(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", answer.kind)
			_, _ = io.WriteString(w, answer.body)
		})
		ctx := t.Context()
		for call, do := range map[string]func() error{
			"me":       func() error { _, err := c.Me(ctx); return err },
			"login":    func() error { _, err := c.Login(ctx, client.Credentials{}); return err },
			"register": func() error { _, err := c.Register(ctx, "x", client.Password{}); return err },
			"logout":   func() error { _, err := c.Logout(ctx); return err },
			"policy":   func() error { _, err := c.Policy(ctx); return err },
			"set":      func() error { _, err := c.RevertPolicy(ctx, 1, client.PolicyHow{Version: 1}); return err },
			"user":     func() error { _, err := c.User(ctx, 1); return err },
			"revoke":   func() error { return c.Revoke(ctx, flakepass.NewToken(9)) },
			"change":   func() error { _, err := c.ChangeUser(ctx, 1, client.UserChange{}); return err },
			"session":  func() error { _, err := c.Session(ctx, 1); return err },
			"mine":     func() error { _, err := c.MySessions(ctx); return err },
			"others":   func() error { _, _, err := c.LogoutOthers(ctx); return err },
			"leave":    func() error { _, err := c.LogoutEverywhere(ctx); return err },
			"end mine": func() error { _, err := c.EndMySession(ctx, 1); return err },
			"all":      func() error { _, err := c.LogoutAll(ctx, ""); return err },
			"stats":    func() error { _, err := c.Stats(ctx); return err },
			"running":  func() error { _, err := c.Instances(ctx); return err },
			"sweep":    func() error { _, err := c.StartSweep(ctx); return err },
			"token":    func() error { _, err := c.Introspect(ctx, flakepass.NewToken(9)); return err },
			"ready":    func() error { return c.Ready(ctx) },
			"users": func() error {
				for _, err := range c.Users(ctx, "") {
					return err
				}
				return nil
			},
		} {
			if call == "register" && strings.Contains(answer.body, `"username":"alice",`) {
				continue // it is one
			}
			if err := do(); !errors.Is(err, client.ErrAnswer) {
				t.Errorf("%s: %s: %v", what, call, err)
			}
		}
	}
}

// TestUnknownMembersArePassedOver: the server may be newer.
func TestUnknownMembersArePassedOver(t *testing.T) {
	t.Parallel()
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/below/v1/me" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"new":{"a":[1]},"username":"alice","role":"guest","session":{"id":"7","issued_at":"2026-11-21T09:12:33.123Z",`+
			`"last_seen_at":"2026-11-21T09:12:33.123Z","expires_at":"2026-11-21T09:12:33.123Z","idle_expires_at":"2026-11-21T09:12:33.123Z"}}`)
	})
	if me, err := c.Me(t.Context()); err != nil || me.Role != "guest" || me.Session.ID != 7 {
		t.Errorf("%+v, %v", me, err)
	}
}

// TestListsEnd: also if the server says that a page follows itself.
func TestListsEnd(t *testing.T) {
	t.Parallel()
	asked := 0
	c := served(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"users":[{"id":"7","username":"alice","role":"user","created_at":"2026-11-21T09:12:33.123Z"}],"next_cursor":"7"}`)
	})
	var last error
	n := 0
	for _, err := range c.Users(t.Context(), "") {
		if last = err; err == nil {
			n++
		}
	}
	if !errors.Is(last, client.ErrAnswer) || n != 2 || asked != 2 {
		t.Errorf("%d entries in %d calls, then %v", n, asked, last)
	}
	for _, err := range c.Users(t.Context(), "") {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if asked != 3 {
		t.Errorf("after the loop was left, another page is asked for: %d calls", asked)
	}
}

// TestSecretsDoNotPrint: neither in a value nor in an error.
func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	const word = "canary-in-a-coal-mine"
	token := flakepass.NewToken(7)
	type nest struct{ inner client.Credentials }
	who := client.Credentials{Username: "alice", Password: client.NewPassword(word), Last: token}
	var said strings.Builder
	for _, v := range []any{who, &who, nest{who}, &nest{who}, who.Password, []any{who.Password}, client.Login{Token: token}, client.NewUser{Password: who.Password}} {
		fmt.Fprintf(&said, "%v %+v %#v %s %q %x %d", v, v, v, v, v, v, v)
		_ = json.NewEncoder(&said).Encode(v)
		slog.New(slog.NewTextHandler(&said, nil)).Info("x", "v", v)
	}
	c := served(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"token":%q,"token_type":"Bearer","session_id":"8"}`, token.Reveal()) // of another login
	})
	_, err := c.Login(t.Context(), who)
	if !errors.Is(err, client.ErrAnswer) {
		t.Errorf("a token of another login: %v", err)
	}
	fmt.Fprint(&said, err)
	gone, stop := context.WithCancel(t.Context())
	stop()
	_, err = c.Login(gone, who)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	fmt.Fprint(&said, err)
	for _, secret := range []string{word, token.Reveal(), token.Reveal()[14:40], fmt.Sprintf("%x", word)} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("a secret was printed in %s", said.String())
		}
	}
}

// TestAnswersWithSecretsDoNotPrint: who writes down what a call returned does not write the secret, and what
// was written is not read as one.
func TestAnswersWithSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	token, key := flakepass.NewToken(7), flakepass.NewServiceKey(7)
	const at = `"2026-11-21T09:12:33.123Z"`
	login := `"token":"` + token.Reveal() + `","session_id":"7","expires_at":` + at + `,"idle_expires_at":` + at
	reset := `{"reset_token":"fpr_canary","url":"https://a/reset#fpr_canary","expires_at":` + at + `}`
	answers := map[string]string{
		"/v1/login":         `{` + login + `,"device_credential":"canary","deletion_cancelled":true}`,
		"/v1/issue":         `{` + login + `,"device_credential":"canary","user_id":"9","username":"a","auth_method":"sms","auth_time":` + at + `}`,
		"/9/keys":           `{"key":"` + key.Reveal() + `","id":"7","user_id":"9","name":"x","scopes":["verify"],"created_at":` + at + `}`,
		"/9/impersonate":    `{"token":"` + token.Reveal() + `","session_id":"7","user_id":"9","username":"a","act":{"sub":"8"},"expires_at":` + at + `}`,
		"/9/password-reset": reset,
		"/admin/users":      `{"id":"9","username":"a","role":"user","created_at":` + at + `,"password_reset":` + reset + `}`,
	}
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for path, body := range answers {
			if strings.HasSuffix(r.URL.Path, path) {
				_, _ = io.WriteString(w, body)
			}
		}
	})
	in, err := c.Login(t.Context(), client.Credentials{})
	issued, ierr := c.Issue(t.Context(), client.Issue{})
	made, merr := c.CreateServiceKey(t.Context(), 9, client.NewServiceKey{})
	act, aerr := c.Impersonate(t.Context(), 9, "x")
	started, serr := c.StartPasswordReset(t.Context(), 9, client.ResetHow{})
	invited, verr := c.InviteUser(t.Context(), client.NewUser{}, 0)
	if err := errors.Join(err, ierr, merr, aerr, serr, verr); err != nil {
		t.Fatal(err)
	}
	for _, ok := range []bool{
		in.Token.Reveal() == token.Reveal() && in.SessionID == 7 && in.DeviceCredential.Reveal() == "canary" && in.DeletionCancelled,
		issued.Token.Reveal() == token.Reveal() && issued.UserID == 9 && issued.DeviceCredential.Reveal() == "canary" && issued.AuthMethod == "sms",
		made.Key.Reveal() == key.Reveal() && made.ID == 7 && act.Token.Reveal() == token.Reveal() && act.Act.Admin() == 8,
		started.Token.Reveal() == "fpr_canary" && started.Page == "https://a/reset" && started.URL() == "https://a/reset#fpr_canary",
		invited.Username == "a" && invited.Reset.Page == started.Page && invited.Reset.Token.Reveal() == "fpr_canary",
	} {
		if !ok {
			t.Errorf("read %v %v %v %v %v %v", in, issued, made, act, started, invited)
		}
	}
	for _, v := range []any{&in, &issued, &made, &act, &started, &invited} {
		written, err := json.Marshal(v)
		said := fmt.Sprintf("%s %v %+v %#v", written, v, v, v)
		if err != nil || strings.Contains(said, "canary") || strings.Contains(said, token.Reveal()[14:40]) || strings.Contains(said, key.Reveal()[15:41]) {
			t.Errorf("%T: the secret is in %s, %v", v, said, err)
		}
		if err := json.Unmarshal(written, v); err == nil {
			t.Errorf("%T was read from %s", v, written)
		}
	}
}

// TestRefusalOfTheOwnTokenIsNoAnswer: an error of Options.Token that is a Refusal must
// not look like the answer to the question about another token.
func TestRefusalOfTheOwnTokenIsNoAnswer(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Options{URL: "http://127.0.0.1:1", Token: func(context.Context) (flakepass.Token, error) {
		return flakepass.Token{}, flakepass.ErrExpired
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Introspect(t.Context(), flakepass.NewToken(7))
	var refusal *flakepass.Refusal
	if err == nil || errors.As(err, &refusal) {
		t.Errorf("got %v", err)
	}
	c, err = client.New(client.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Me(t.Context()); err == nil || !strings.Contains(err.Error(), "Options.Token") {
		t.Errorf("without a token: %v", err)
	}
}

// answering is a transport that gives one answer, and notes when.
type answering struct {
	status int
	after  string // Retry-After, if any
	page   bool   // and no problem document
	asked  []time.Time
}

// RoundTrip is called by the client.
func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, time.Now())
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	h := http.Header{"Content-Type": {map[bool]string{true: "text/html", false: "application/problem+json"}[a.page]}}
	if a.after != "" {
		h.Set("Retry-After", a.after)
	}
	return &http.Response{StatusCode: a.status, Header: h, Request: r, Body: io.NopCloser(strings.NewReader(`{"code":"unavailable"}`))}, nil
}

// TestTriesAgainWhereItMay: only what may be made twice, only after 503 and 429,
// not before the server said and not at one moment, and not past the context.
func TestTriesAgainWhereItMay(t *testing.T) {
	t.Parallel()
	introspect := func(ctx context.Context, c *client.Client) error {
		_, err := c.Introspect(ctx, flakepass.NewToken(9))
		return err
	}
	me := func(ctx context.Context, c *client.Client) error { _, err := c.Me(ctx); return err }
	login := func(ctx context.Context, c *client.Client) error {
		_, err := c.Login(ctx, client.Credentials{})
		return err
	}
	change := func(ctx context.Context, c *client.Client) error {
		_, err := c.ChangeUser(ctx, 7, client.UserChange{})
		return err
	}
	revert := func(ctx context.Context, c *client.Client) error {
		_, err := c.RevertPolicy(ctx, 1, client.PolicyHow{Version: 2})
		return err
	}
	for what, w := range map[string]struct {
		retries int
		limit   time.Duration // of the context
		do      func(context.Context, *client.Client) error
		answer  answering
		want    int
	}{
		"off":                    {0, time.Hour, me, answering{status: 503, after: "1"}, 1},
		"reading, 503":           {2, time.Hour, me, answering{status: 503, after: "3"}, 3},
		"reading, 429":           {2, time.Hour, me, answering{status: 429, after: "3"}, 3},
		"a question in a form":   {2, time.Hour, introspect, answering{status: 503, after: "3"}, 3},
		"no time to wait":        {2, time.Hour, me, answering{status: 503, after: ""}, 3},
		"a date that is far":     {2, time.Hour, me, answering{status: 503, after: "Fri, 31 Dec 2999 23:59:59 GMT"}, 1},
		"a number too large":     {2, time.Hour, me, answering{status: 503, after: "99999999999999999999"}, 1},
		"later than is bearable": {2, time.Hour, me, answering{status: 503, after: "31"}, 1},
		"past the context":       {2, 2 * time.Second, me, answering{status: 503, after: "3"}, 1},
		"500":                    {2, time.Hour, me, answering{status: 500, after: "1"}, 1},
		"401":                    {2, time.Hour, me, answering{status: 401, after: "1"}, 1},
		"a login":                {2, time.Hour, login, answering{status: 503, after: "1"}, 1},
		"a change of a user":     {2, time.Hour, change, answering{status: 503, after: "1"}, 1},
		"a change of the policy": {2, time.Hour, revert, answering{status: 503, after: "1"}, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &w.answer
				c, err := client.New(client.Options{URL: "https://a", HTTP: &http.Client{Transport: a}, Retries: w.retries})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), w.limit)
				defer cancel()
				var p *client.Problem
				if !errors.As(w.do(ctx, c.As(flakepass.NewToken(7))), &p) || p.Status != a.status || len(a.asked) != w.want {
					t.Fatalf("%d calls and %v, want %d calls and the problem", len(a.asked), p, w.want)
				}
				least := max(p.RetryAfter, time.Second)
				for n := 1; n < len(a.asked); n++ {
					if gap := a.asked[n].Sub(a.asked[n-1]); gap < least || gap > 2*least {
						t.Errorf("waited %v and the answer said %v", gap, p.RetryAfter)
					}
				}
			})
		})
	}
}

// TestBusyProxyIsAskedAgain: its page is no problem, but says when to ask.
func TestBusyProxyIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"3", "Sat, 01 Jan 2000 00:00:03 GMT"} { // a bubble begins with that year
		synctest.Test(t, func(t *testing.T) {
			a := &answering{status: 503, after: after, page: true}
			c, err := client.New(client.Options{URL: "https://a", HTTP: &http.Client{Transport: a}, Retries: 2})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = c.As(flakepass.NewToken(7)).Me(t.Context()); !errors.Is(err, client.ErrAnswer) || len(a.asked) != 3 || a.asked[1].Sub(a.asked[0]) < 3*time.Second {
				t.Errorf("%s: %d calls at %v, %v", after, len(a.asked), a.asked, err)
			}
		})
	}
}
