package flakepass

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/problem"
)

// A Guard lets a request through only if its header holds a living token. Set
// the fields once, before use.
type Guard struct {
	// Verifier says who holds a token.
	Verifier Verifier

	// Header names one more header that may hold the bare token, for apps that
	// cannot send Authorization. Empty means none.
	Header string

	// Undecided, if set, hears the errors that became a 503, each with the request
	// that was not let through. The request holds a token: do not log its header.
	Undecided func(*http.Request, error)
}

// Handler returns a handler that passes guarded requests on to next, with the
// [Identity] in their context.
func (g *Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r, ok := g.Admit(w, r); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// Admit asks who sent r. If somebody did, it returns the request to go on
// with, whose context carries the [Identity]. If not, it has written the
// answer (401, 400 or 503, as application/problem+json) and returns false.
// It serves routers whose chain is not an [http.Handler].
func (g *Guard) Admit(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	t, err := Credential(r.Header, g.Header)
	if err == nil {
		var who Identity
		if who, err = g.Verifier.Verify(r.Context(), t); err == nil {
			return r.WithContext(NewContext(r.Context(), who)), true
		}
	}
	g.Refuse(w, r, err)
	return nil, false
}

// ErrAmbiguous is returned by [Credential] for a request that offers two
// different tokens, or one header twice. It becomes a 400.
var ErrAmbiguous = errors.New("more than one credential in the request")

// Credential finds the token of a request: in Authorization, with the scheme
// Bearer in any case (RFC 6750 section 2.1, RFC 9110 section 11.1), or in the
// header named extra, if that is not empty. It returns [ErrMissing],
// [ErrMalformed] or [ErrAmbiguous]. Nothing of the request is repeated in
// an error.
func Credential(h http.Header, extra string) (Token, error) {
	auth := h["Authorization"]
	var also []string
	if extra != "" {
		also = h[http.CanonicalHeaderKey(extra)]
	}
	switch {
	case len(auth) > 1 || len(also) > 1:
		return Token{}, ErrAmbiguous
	case len(auth) == 0 && len(also) == 0:
		return Token{}, ErrMissing
	}
	var text string
	if len(auth) == 1 {
		scheme, rest, found := strings.Cut(auth[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			if len(also) == 0 {
				return Token{}, ErrMissing // credentials of another kind
			}
			return Token{}, ErrAmbiguous
		}
		if !found {
			return Token{}, ErrMalformed
		}
		text = strings.TrimLeft(rest, " ") // RFC 9110: one or more spaces
	}
	if len(also) == 1 {
		if len(auth) == 1 && text != also[0] {
			return Token{}, ErrAmbiguous
		}
		text = also[0]
	}
	return ParseToken(text)
}

// retryAfter is how long a client is asked to wait when nobody can tell.
const retryAfter = time.Second

// Refuse writes the answer for a request that is not let through: 401 for a
// [*Refusal], 400 for [ErrAmbiguous], and 503 for any other error.
func (g *Guard) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	challenge := func(rest string) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="flakepass"`+rest)
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		if refusal == ErrMissing { // RFC 6750 section 3.1: no error code then
			challenge("")
		} else {
			challenge(`, error="invalid_token", error_description="` + refusal.title + `"`)
		}
		problem.Write(w, problem.Problem{Status: http.StatusUnauthorized, Code: refusal.code, Title: refusal.title})
		return
	}
	if errors.Is(err, ErrAmbiguous) {
		challenge(`, error="invalid_request"`)
		problem.Write(w, problem.Problem{
			Status: http.StatusBadRequest, Code: "credentials_ambiguous", Title: "more than one credential",
			Detail: "send exactly one token, in one header",
		})
		return
	}
	if g.Undecided != nil {
		g.Undecided(r, err)
	}
	problem.Write(w, problem.Unavailable(retryAfter))
}
