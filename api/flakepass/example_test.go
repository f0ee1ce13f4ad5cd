package flakepass_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/flakepass/flakepass/api/flakepass"
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

// Each route has the Guard that it needs; all share one Verifier.
func ExampleGuard_Only() {
	alive := flakepass.NewToken(1001)
	guard := &flakepass.Guard{Verifier: logins{alive}}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := flakepass.FromContext(r.Context())
		_, _ = fmt.Fprintf(w, "hello %s %t", who.Username, ok)
	})
	mux := http.NewServeMux()
	mux.Handle("GET /orders", guard.Handler(hello))
	mux.Handle("GET /users", guard.Only("admin").Handler(hello))
	mux.Handle("GET /news", guard.Optional().Handler(hello))

	for _, c := range []struct {
		path  string
		token flakepass.Token
	}{
		{"/orders", alive}, {"/users", alive}, {"/users", flakepass.Token{}},
		{"/news", alive}, {"/news", flakepass.Token{}}, {"/news", flakepass.NewToken(1002)},
	} {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, c.path, nil)
		if !c.token.IsZero() {
			r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		var problem struct{ Code string }
		if json.Unmarshal(w.Body.Bytes(), &problem) == nil {
			fmt.Println(c.path, c.token, w.Code, problem.Code)
			continue
		}
		fmt.Println(c.path, c.token, w.Code, w.Body)
	}
	// Output:
	// /orders token(1001) 200 hello alice true
	// /users token(1001) 403 forbidden
	// /users token(none) 401 token_missing
	// /news token(1001) 200 hello alice true
	// /news token(none) 200 hello  false
	// /news token(1002) 401 token_logged_out
}

// Guard.Handler is a middleware as chi, gorilla/mux, alice and, by way of
// echo.WrapMiddleware, echo have it.
func ExampleGuard_Handler() {
	alive := flakepass.NewToken(1001)
	guard := &flakepass.Guard{Verifier: logins{alive}}
	use := func(middleware func(http.Handler) http.Handler, h http.Handler) http.Handler { return middleware(h) }

	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, _ := flakepass.FromContext(r.Context())
		_, _ = fmt.Fprintf(w, "hello %s", who.Username)
	})
	fmt.Println(send(use(guard.Handler, hello), alive).Body)
	// Output: hello alice
}

// A service behind a proxy believes what the proxy has learned, and no other source.
func ExampleForwarded() {
	key, err := flakepass.NewForwardKey("the text of FLAKEPASS_FORWARD_KEY, 32 bytes or more")
	if err != nil {
		fmt.Println(err)
		return
	}
	guard := &flakepass.Guard{
		Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}},
		Undecided: func(_ *http.Request, err error) { fmt.Println(err) },
	}
	hello := guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, _ := flakepass.FromContext(r.Context())
		_, _ = fmt.Fprintf(w, "hello %s", who.Username)
	}))

	// What the proxy does, with the answer of GET /v1/verify.
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/orders", nil)
	key.Forward(r.Header, &flakepass.Identity{UserID: 7, Username: "alice", Role: "user", SessionID: 1001}, r.Method, r.RequestURI)
	w := httptest.NewRecorder()
	hello.ServeHTTP(w, r)
	fmt.Println(w.Body)

	// What a client does that reaches the service on another way.
	r = httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/orders", nil)
	flakepass.ForwardKey{}.Forward(r.Header, &flakepass.Identity{UserID: 1, Username: "root", Role: "admin", SessionID: 1}, r.Method, r.RequestURI)
	w = httptest.NewRecorder()
	hello.ServeHTTP(w, r)
	fmt.Println(w.Code)
	// Output:
	// hello alice
	// forwarded identity not believed: there is no signature; set FLAKEPASS_FORWARD_KEY, and let the proxy send X-Forwarded-Method and X-Forwarded-Uri to /v1/verify and copy X-Auth-Signature
	// 503
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
