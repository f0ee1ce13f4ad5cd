package flakepass_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/flakepass/flakepass"
)

// logins is a Verifier that knows one login. A real one asks a server.
type logins struct{ token flakepass.Token }

func (l logins) Verify(_ context.Context, t flakepass.Token) (flakepass.Identity, error) {
	if t.ID() != l.token.ID() {
		return flakepass.Identity{}, flakepass.ErrLoggedOut
	}
	return flakepass.Identity{UserID: 7, Username: "alice", Role: "user", SessionID: t.ID()}, nil
}

// send is what an app does.
func send(h http.Handler, token flakepass.Token) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/orders", nil)
	if !token.IsZero() {
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func ExampleGuard() {
	alive := flakepass.NewToken(1001)
	guard := &flakepass.Guard{
		Verifier:  logins{alive},
		Undecided: func(r *http.Request, err error) { fmt.Println("cannot tell:", r.URL.Path, err) },
	}
	orders := func(w http.ResponseWriter, r *http.Request) {
		who, _ := flakepass.FromContext(r.Context())
		_, _ = fmt.Fprintf(w, "orders of %s", who.Username)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /orders", guard.Handler(http.HandlerFunc(orders)))

	answer := send(mux, alive)
	fmt.Println(answer.Code, answer.Body)

	answer = send(mux, flakepass.NewToken(1002))
	fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate"))

	answer = send(mux, flakepass.Token{})
	fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate"))
	// Output:
	// 200 orders of alice
	// 401 Bearer realm="flakepass", error="invalid_token", error_description="logged out"
	// 401 Bearer realm="flakepass"
}

// A router whose chain is not an http.Handler calls Admit and stops when it
// returns false. In gin, the two parameters are c.Writer and c.Request, and
// stopping is c.Abort().
func ExampleGuard_Admit() {
	alive := flakepass.NewToken(1001)
	guard := &flakepass.Guard{Verifier: logins{alive}}

	type handler func(w http.ResponseWriter, r *http.Request) error
	guarded := func(next handler) handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			r, ok := guard.Admit(w, r)
			if !ok {
				return nil // answered
			}
			return next(w, r)
		}
	}
	hello := guarded(func(w http.ResponseWriter, r *http.Request) error {
		who, _ := flakepass.FromContext(r.Context())
		_, err := fmt.Fprintf(w, "hello %s", who.Username)
		return err
	})
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = hello(w, r) })

	fmt.Println(send(server, alive).Body)
	fmt.Println(send(server, flakepass.NewToken(1002)).Code)
	// Output:
	// hello alice
	// 401
}

// A Verifier that cannot tell returns an error of its own. The guard answers
// 503 then, so that apps keep their tokens.
func ExampleVerifierFunc() {
	broken := flakepass.VerifierFunc(func(context.Context, flakepass.Token) (flakepass.Identity, error) {
		return flakepass.Identity{}, errors.New("database is down")
	})
	guard := &flakepass.Guard{Verifier: broken}

	answer := send(guard.Handler(http.NotFoundHandler()), flakepass.NewToken(1001))
	fmt.Println(answer.Code, "retry after", answer.Header().Get("Retry-After"))
	// Output: 503 retry after 1
}

func ExampleFromContext() {
	ctx := context.Background()
	_, ok := flakepass.FromContext(ctx)
	fmt.Println(ok)

	// A test of a handler needs no guard and no token.
	ctx = flakepass.NewContext(ctx, flakepass.Identity{UserID: 7, Username: "alice", Role: "user"})
	who, ok := flakepass.FromContext(ctx)
	fmt.Println(who.UserID, who.Username, ok)
	// Output:
	// false
	// 7 alice true
}

func ExampleCredential() {
	header := http.Header{}
	_, err := flakepass.Credential(header, "X-Auth-Token")
	fmt.Println(err)

	header.Set("X-Auth-Token", flakepass.NewToken(1001).Reveal())
	token, err := flakepass.Credential(header, "X-Auth-Token")
	fmt.Println(token, err)

	header.Set("Authorization", "Bearer "+flakepass.NewToken(1002).Reveal())
	_, err = flakepass.Credential(header, "X-Auth-Token")
	fmt.Println(err)
	// Output:
	// no token in the request
	// token(1001) <nil>
	// more than one credential in the request
}
