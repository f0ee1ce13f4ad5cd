package flakepass

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// A Guard lets a request through only if its header holds a living token. Set
// the fields once, before use. For routes with rules of their own, derive more
// Guards from one: see [Guard.Only], [Guard.Optional] and [Guard.Passive].
type Guard struct {
	// Verifier says who holds a token. It may be nil if Forwarded is set.
	Verifier Verifier

	// Forwarded, if set, believes a proxy that has asked already. Requests that
	// bring no such answer are asked about with Verifier, or refused with
	// [ErrMissing] if there is none.
	Forwarded *Forwarded

	// Header names one more header that may hold the bare token, for apps that
	// cannot send Authorization. Empty means none, and so does Authorization.
	Header string

	// Undecided, if set, receives the errors that became a 503, each with the request
	// that was not let through. The request holds a token: do not log its header.
	Undecided func(*http.Request, error)

	// HideTimes leaves [ExpiresInHeader] and [IdleExpiresInHeader] out of the
	// answers: for answers that a shared cache keeps, or that must not vary.
	HideTimes bool

	roles    []string // nil: any
	optional bool
	passive  bool
}

// Only derives a Guard that lets through only who has one of the roles, such as
// user, service or admin; another living token is refused with [ErrForbidden].
// The roles replace those of g. With no roles, it refuses every request.
func (g *Guard) Only(roles ...string) *Guard {
	d := *g
	d.roles = append([]string{}, roles...) // not nil, and not the caller's
	return &d
}

// Optional derives a Guard that also lets a request through that brings no
// token: its context has no [Identity]. A token that is refused still is, so
// that an app learns that its login is over. On a route that is [Guard.Only] for
// some roles it changes nothing, because every user has a role.
func (g *Guard) Optional() *Guard {
	d := *g
	d.optional = true
	return &d
}

// Passive derives a Guard whose requests do not count as a use of the login,
// as if each had sent [PassiveHeader]: for routes that apps poll.
func (g *Guard) Passive() *Guard {
	d := *g
	d.passive = true
	return &d
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

// Admit asks who sent r. If that user may, it returns the request to go
// on with, whose context carries the [Identity], and has set the headers that
// say how much time is left. If not, it has written the answer (401, 403, 400 or
// 503, as application/problem+json) and returns false. It serves routers whose
// chain is not an [http.Handler].
func (g *Guard) Admit(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	next, err := g.Check(w, r)
	if err != nil {
		g.Refuse(w, r, err)
		return nil, false
	}
	return next, true
}

// Check is [Guard.Admit] for callers that look at a refusal before it is
// answered, for example to record it. If r may not go on, it has written nothing,
// and its error is for [Guard.Refuse].
func (g *Guard) Check(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	signature := r.Header[signatureHeader]
	who, anonymous, err := g.ask(r)
	if anonymous && g.optional && g.roles == nil {
		return r, nil
	}
	if err == nil && g.roles != nil && !slices.Contains(g.roles, who.Role) {
		err = ErrForbidden
	}
	if err != nil {
		return nil, err
	}
	if !g.HideTimes {
		setTimes(w.Header(), &who)
	}
	if g.Forwarded != nil && len(signature) == 1 {
		r = withSignature(r, signature[0])
	}
	return with(r, &who), nil
}

// ask finds out who sent r. It is anonymous, and an error, if r does not say.
func (g *Guard) ask(r *http.Request) (who Identity, anonymous bool, err error) {
	if g.Forwarded != nil {
		who, anonymous, err = g.Forwarded.take(r)
		if !anonymous || g.Verifier == nil {
			return who, anonymous, err
		}
	}
	t, err := Credential(r.Header, g.Header)
	if err != nil {
		return who, err == ErrMissing, err //nolint:errorlint // Credential does not wrap
	}
	ctx := r.Context()
	if g.passive || passive(r.Header) {
		ctx = NewPassiveContext(ctx)
	}
	who, err = g.Verifier.Verify(ctx, t)
	return who, false, err
}

// ErrAmbiguous is returned by [Credential] for a request that offers two
// different tokens, one header twice, or another scheme in Authorization beside the
// header named extra; an empty header beside another one counts. It becomes a 400.
var ErrAmbiguous = errors.New("more than one credential in the request")

// Credential finds the token of a request: in Authorization, with the scheme
// Bearer in any case (RFC 6750 section 2.1, RFC 9110 section 11.1), or in the
// header named extra, if that is neither empty nor Authorization. It returns [ErrMissing],
// also for a header that is empty, [ErrMalformed], [ErrKeyNotAccepted] or [ErrAmbiguous]. Nothing of the request is
// repeated in an error.
func Credential(h http.Header, extra string) (Token, error) {
	text, err := credential(h, extra)
	if err != nil {
		return Token{}, err
	}
	return ParseToken(text)
}

// credential is the text of the credential of a request.
func credential(h http.Header, extra string) (string, error) {
	auth := h["Authorization"]
	var also []string
	if name := http.CanonicalHeaderKey(extra); name != "" && name != "Authorization" { // its value is no bare token
		also = h[name]
	}
	switch {
	case len(auth) > 1 || len(also) > 1:
		return "", ErrAmbiguous
	case len(auth) == 0 && (len(also) == 0 || also[0] == ""):
		return "", ErrMissing
	}
	var text string
	if len(auth) == 1 {
		scheme, rest, _ := strings.Cut(auth[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			if len(also) == 0 {
				return "", ErrMissing // credentials of another kind
			}
			return "", ErrAmbiguous
		}
		text = strings.TrimLeft(rest, " ") // RFC 9110: one or more spaces
	}
	if len(also) == 1 {
		if len(auth) == 1 && text != also[0] {
			return "", ErrAmbiguous
		}
		text = also[0]
	}
	return text, nil
}
