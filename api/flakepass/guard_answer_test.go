package flakepass_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

func withToken() http.Header { return http.Header{"Authorization": {"Bearer " + goldenText}} }

func saying(err error) flakepass.VerifierFunc {
	return func(context.Context, flakepass.Token) (flakepass.Identity, error) { return alice, err }
}

// The codes and titles are part of the contract: clients switch on the code.
func TestEveryRefusalIsA401WithItsCode(t *testing.T) {
	for refusal, c := range map[*flakepass.Refusal]struct{ code, title string }{
		flakepass.ErrMissing:         {"token_missing", ""},
		flakepass.ErrMalformed:       {"token_malformed", "not a token"},
		flakepass.ErrInvalid:         {"token_invalid", "token not valid"},
		flakepass.ErrExpired:         {"token_expired", "login expired"},
		flakepass.ErrIdle:            {"token_idle_timeout", "login ended after inactivity"},
		flakepass.ErrLoggedOut:       {"token_logged_out", "logged out"},
		flakepass.ErrReplaced:        {"token_replaced", "replaced by a newer login"},
		flakepass.ErrRevoked:         {"token_revoked", "login revoked"},
		flakepass.ErrAccountDisabled: {"account_disabled", "account disabled"},
	} {
		challenge := bare
		if c.title != "" {
			challenge += `, error="invalid_token", error_description="` + c.title + `"`
		}
		for name, err := range map[string]error{
			"plain":   refusal,
			"wrapped": fmt.Errorf("session: verify: MARKER: %w", refusal),
			"joined":  errors.Join(errors.New("MARKER"), refusal),
		} {
			t.Run(c.code+"/"+name, func(t *testing.T) {
				if refusal.Code() != c.code {
					t.Errorf("got Code %s, want %s", refusal.Code(), c.code)
				}
				guard := &flakepass.Guard{Verifier: saying(err), Undecided: func(_ *http.Request, err error) {
					t.Errorf("Undecided got %v, which is a verdict", err)
				}}
				var through bool
				got := httptest.NewRecorder()
				guard.Handler(reached(&through)).ServeHTTP(got, request(t, withToken()))
				if through {
					t.Error("a refused request was let through")
				}
				mustAnswer(t, got, withToken(), 401, c.code, challenge)
				if strings.ContainsAny(strings.TrimPrefix(challenge, bare), `\`) || got.Header().Get("Retry-After") != "" {
					t.Errorf("got headers %v", got.Header())
				}
			})
		}
	}
}

// An app that reads 401 throws its token away, so not knowing is never a 401.
func TestNotKnowingIsA503(t *testing.T) {
	type key struct{}
	for name, cause := range map[string]error{
		"database":  errors.New("MARKER: dial tcp: connection refused"),
		"deadline":  context.DeadlineExceeded,
		"cancelled": fmt.Errorf("session: verify: %w", context.Canceled),
		"secretive": fmt.Errorf("MARKER: no row for %s", goldenText),
	} {
		for _, hooked := range []bool{true, false} {
			t.Run(fmt.Sprint(name, "/hooked ", hooked), func(t *testing.T) {
				var reported []error
				guard := &flakepass.Guard{Verifier: saying(cause)}
				if hooked {
					guard.Undecided = func(r *http.Request, err error) {
						reported = append(reported, err)
						if r.Context().Value(key{}) != "of the request" {
							t.Error("Undecided was called without the request")
						}
					}
				}
				var through bool
				got := httptest.NewRecorder()
				r := request(t, withToken())
				r = r.WithContext(context.WithValue(r.Context(), key{}, "of the request"))
				guard.Handler(reached(&through)).ServeHTTP(got, r)
				if through {
					t.Error("a request was let through whose token was not checked")
				}
				mustAnswer(t, got, withToken(), 503, "unavailable", "")
				if got.Header().Get("Retry-After") != "1" {
					t.Errorf("got Retry-After %q, want 1", got.Header().Get("Retry-After"))
				}
				if hooked && (len(reported) != 1 || reported[0] != cause) { //nolint:errorlint // the very same error
					t.Errorf("Undecided got %v, want %v once", reported, cause)
				}
			})
		}
	}
}

func TestGuardPutsTheIdentityInTheContext(t *testing.T) {
	type key struct{}
	guard := &flakepass.Guard{Verifier: flakepass.VerifierFunc(func(ctx context.Context, _ flakepass.Token) (flakepass.Identity, error) {
		if ctx.Value(key{}) != "of the request" {
			t.Error("the Verifier was asked without the context of the request")
		}
		return alice, nil
	})}
	r := request(t, withToken())
	r = r.WithContext(context.WithValue(r.Context(), key{}, "of the request"))
	guard.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		who, ok := flakepass.FromContext(r.Context())
		if !ok || who != alice {
			t.Errorf("got identity %+v, %t, want %+v", who, ok, alice)
		}
		if r.Context().Value(key{}) != "of the request" || r.URL.Path != "/MARKER-PATH" {
			t.Error("the guarded request lost its context or its path")
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
	if _, ok := flakepass.FromContext(r.Context()); ok {
		t.Error("the caller's own request changed")
	}
	if who, ok := flakepass.FromContext(t.Context()); ok || who != (flakepass.Identity{}) {
		t.Errorf("a context that passed no Guard: got %+v, %t", who, ok)
	}
}

// A context that carries an identity already is no reason to let a request in.
func TestIdentityInTheContextIsNoCredential(t *testing.T) {
	r := request(t, nil)
	r = r.WithContext(flakepass.NewContext(r.Context(), alice))
	got := httptest.NewRecorder()
	if next, ok := (&flakepass.Guard{Verifier: never(t)}).Admit(got, r); ok || next != nil {
		t.Errorf("Admit: got %v, %t, want nil, false", next, ok)
	}
	mustAnswer(t, got, nil, 401, "token_missing", bare)
}

func TestPanicOfTheVerifierIsNotSwallowed(t *testing.T) {
	var through bool
	guard := &flakepass.Guard{Verifier: flakepass.VerifierFunc(func(context.Context, flakepass.Token) (flakepass.Identity, error) {
		panic("broken verifier")
	})}
	got := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != "broken verifier" {
			t.Errorf("recovered %v, want the Verifier's own panic", p)
		}
		if through || got.Body.Len() > 0 {
			t.Errorf("after a panic: let through %t, body %q", through, got.Body)
		}
	}()
	guard.Handler(reached(&through)).ServeHTTP(got, request(t, withToken()))
}

func TestAdmitStopsAChain(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		steps  string
		status int
	}{
		"token":    {withToken(), "guard handler", 200},
		"no token": {nil, "guard", 401},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []string
			guard := &flakepass.Guard{Verifier: flakepass.VerifierFunc(toAlice)}
			chain := &chain{handlers: []func(*chain){
				func(c *chain) {
					steps = append(steps, "guard")
					r, ok := guard.Admit(c.w, c.r)
					if !ok {
						c.abort()
						return
					}
					c.r = r
				},
				func(c *chain) {
					steps = append(steps, "handler")
					if who, ok := flakepass.FromContext(c.r.Context()); !ok || who != alice {
						t.Errorf("got identity %+v, %t", who, ok)
					}
				},
			}}
			got := httptest.NewRecorder()
			chain.serve(got, request(t, c.header))
			if strings.Join(steps, " ") != c.steps || got.Code != c.status {
				t.Errorf("got steps %v and status %d, want %s and %d", steps, got.Code, c.steps, c.status)
			}
		})
	}
}

// chain is how routers outside of net/http, such as gin, run their handlers.
type chain struct {
	w        http.ResponseWriter
	r        *http.Request
	handlers []func(*chain)
	aborted  bool
}

func (c *chain) abort() { c.aborted = true }

func (c *chain) serve(w http.ResponseWriter, r *http.Request) {
	c.w, c.r = w, r
	for _, handler := range c.handlers {
		if handler(c); c.aborted {
			return
		}
	}
}
