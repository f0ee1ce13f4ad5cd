package flakepass

import (
	"errors"
	"net/http"
	"strings"
)

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
