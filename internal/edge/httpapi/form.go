package httpapi

import (
	"crypto/subtle"
	"errors"
	"net/url"

	"github.com/gin-gonic/gin"
)

// What can be wrong with a form.
var (
	errForm       = errors.New("body is not a form")
	errFormType   = errors.New("body is not application/x-www-form-urlencoded")
	errNoToken    = errors.New("form has no token")
	errRepeated   = errors.New("form has a parameter twice")
	errTwoClients = errors.New("form has another client secret than the header")
	errInURL      = errors.New("a secret is in the URL")
)

// same reports whether the secret of a form is that of the header, or none. The
// library that APISIX and Kong build on sends both.
func same(secret string, c *gin.Context) bool {
	sent, _ := c.Value(shownKey).(shown)
	return secret == "" || subtle.ConstantTimeCompare([]byte(secret), []byte(sent.reveal())) == 1
}

// tokenOf reads the form of an OAuth request, and returns the text of the token
// that it is about. Of the others token_type_hint is of no use here, for there
// is one type of token, and what is unknown is ignored (RFC 7662 section 2.1,
// RFC 7009 section 2.1).
func tokenOf(c *gin.Context) (string, error) {
	query, _ := url.ParseQuery(c.Request.URL.RawQuery) // as far as it can be read
	for _, secret := range []string{"token", "access_token", "client_secret"} {
		if query.Has(secret) {
			return "", errInURL
		}
	}
	body, err := read(c, "application/x-www-form-urlencoded", errFormType, errForm)
	if err != nil {
		return "", err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", errForm // what the parser says may show a value
	}
	for _, values := range form {
		if len(values) > 1 { // RFC 6749 section 3.2; two parsers could choose differently
			return "", errRepeated
		}
	}
	switch {
	case !same(form.Get("client_secret"), c):
		return "", errTwoClients
	case form.Get("token") == "": // what is empty is as if it were not there (section 3.2)
		return "", errNoToken
	}
	return form.Get("token"), nil
}
