package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// auth stands for a flakepass server: it answers as the one of alice and root
// would.
func auth() *httptest.Server {
	say := func(w http.ResponseWriter, status int, body string) {
		w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "application/problem+json"}[status < 400])
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/register", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 409, `{"status":409,"code":"username_taken","title":"username taken","detail":"choose another"}`)
	})
	mux.HandleFunc("POST /v1/login", func(w http.ResponseWriter, _ *http.Request) {
		t := flakepass.NewToken(412873650192384001)
		say(w, 200, fmt.Sprintf(`{"token":%q,"session_id":"%s","expires_at":"2026-12-21T09:12:33.123Z","idle_expires_at":"2026-12-05T09:12:33.123Z"}`,
			t.Reveal(), t.ID()))
	})
	mux.HandleFunc("GET /v1/me", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 200, `{"username":"alice","role":"user","session":{"id":"412873650192384001","issued_at":"2026-11-21T09:12:33.123Z",`+
			`"last_seen_at":"2026-11-21T09:12:33.123Z","expires_at":"2026-12-21T09:12:33.123Z","idle_expires_at":"2026-12-05T09:12:33.123Z"}}`)
	})
	mux.HandleFunc("POST /v1/logout", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	const terms = `"idle_timeout_seconds":1209600,"absolute_lifetime_seconds":2592000,"touch_interval_seconds":60,"sweep_schedule":"@every 1m","version":7`
	mux.HandleFunc("GET /v1/admin/policy", func(w http.ResponseWriter, _ *http.Request) { say(w, 200, "{"+terms+"}") })
	mux.HandleFunc("PUT /v1/admin/policy", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 409, `{"status":409,"code":"confirmation_required","title":"many logins would end","detail":"send confirm",`+
			`"effect":{"live":{"count":2000,"error":0},"ends_now":{"count":1243,"error":0},"ends_within_hour":{"count":12,"error":0}}}`)
	})
	mux.HandleFunc("GET /v1/admin/sessions", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 200, `{"sessions":[{"id":"412873650192384001","issued_at":"2026-11-21T09:12:33.123Z","last_seen_at":"2026-11-21T09:12:33.123Z",`+
			`"expires_at":"2026-12-21T09:12:33.123Z","idle_expires_at":"2026-12-05T09:12:33.123Z","user_id":"7","username":"alice","role":"user"}]}`)
	})
	return httptest.NewServer(mux)
}

// What an app does: log in, ask, log out.
func Example() {
	server := auth()
	defer server.Close()
	ctx := context.Background()

	c, err := client.New(client.Options{URL: server.URL, Retries: 2})
	if err != nil {
		panic(err)
	}
	in, err := c.Login(ctx, client.Credentials{Username: "alice", Password: client.NewPassword("violet tram sings at noon")})
	if err != nil {
		panic(err)
	}
	fmt.Println("got", in.Token) // a token does not print its secret

	mine := c.As(in.Token)
	me, err := mine.Me(ctx)
	var p *client.Problem
	switch {
	case errors.As(err, &p) && p.Status == http.StatusUnauthorized:
		fmt.Println("log in again:", p.Code) // the token is dead
	case err != nil:
		fmt.Println("keep the token and try later:", err)
	default:
		fmt.Println(me.Username, "until", me.Session.ExpiresAt.Format(time.DateOnly))
	}
	if _, err := mine.Logout(ctx); err != nil {
		panic(err)
	}
	// Output:
	// got token(412873650192384001)
	// alice until 2026-12-21
}

// Problems differ by their codes.
func ExampleProblem() {
	server := auth()
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		panic(err)
	}
	_, err = c.Register(context.Background(), "alice", client.NewPassword("violet tram sings at noon"))
	if errors.Is(err, client.UsernameTaken) {
		fmt.Println("another user is alice")
	}
	fmt.Println(err)
	// Output:
	// another user is alice
	// client: username taken; choose another (409 username_taken)
}

// A change of the policy says which version it replaces, and has to be confirmed
// if many logins end by it.
func ExampleClient_SetPolicy() {
	server := auth()
	defer server.Close()
	ctx := context.Background()
	c, err := client.New(client.Options{URL: server.URL, Token: tokenOfRoot})
	if err != nil {
		panic(err)
	}
	p, err := c.Policy(ctx)
	if err != nil {
		panic(err)
	}
	_, err = c.SetPolicy(ctx, client.PolicyChange{
		IdleTimeout: wire.Seconds(15 * time.Minute), AbsoluteLifetime: p.AbsoluteLifetime, TouchInterval: p.TouchInterval, SweepSchedule: p.SweepSchedule,
		PolicyHow: client.PolicyHow{Version: p.Version, Note: "a lost phone"},
	})
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Code == client.ConfirmationRequired {
		fmt.Printf("ends %d of %d logins; set Confirm to go on\n", problem.Effect.EndsNow.Count, problem.Effect.Live.Count)
	}
	// Output: ends 1243 of 2000 logins; set Confirm to go on
}

// Lists come page by page, as far as the loop goes.
func ExampleClient_Sessions() {
	server := auth()
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL, Token: tokenOfRoot})
	if err != nil {
		panic(err)
	}
	for s, err := range c.Sessions(context.Background(), "") {
		if err != nil {
			panic(err)
		}
		fmt.Println(s.ID, s.Username)
	}
	// Output: 412873650192384001 alice
}

// tokenOfRoot stands for whatever keeps the token of an operator's login.
func tokenOfRoot(context.Context) (flakepass.Token, error) { return flakepass.NewToken(1), nil }
