package httpapi

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// inactive is the answer for every other text: a reason would show the finder of a
// text whether it had been a token (section 2.2).
type inactive struct {
	Active bool `json:"active"`
}

// introspect answers for a token that a resource server was shown. That a
// request came with it is a use of the login, as if the request had come here.
func (s *server) introspect(c *gin.Context) error {
	text, err := tokenOf(c)
	if err != nil {
		return err
	}
	var who flakepass.Identity
	t, err := flakepass.ParseToken(text)
	if err == nil {
		ctx := c.Request.Context()
		if c.GetHeader(flakepass.PassiveHeader) == "1" { // the caller says that no user is present
			ctx = flakepass.NewPassiveContext(ctx)
		}
		who, err = s.Sessions.Verify(ctx, t)
	}
	if _, refused := errors.AsType[*flakepass.Refusal](err); refused {
		s.credentialRefused(c, err)
		return answer(c, http.StatusOK, inactive{})
	}
	if err != nil {
		return err
	}
	answer := wire.Introspection{
		Active: new(true), UserID: who.UserID, Username: who.Username, Role: who.Role,
		TokenType: "Bearer", SessionID: who.SessionID, DeviceClass: who.DeviceClass,
		// The end that comes first: what is idle by then is as dead as what is old.
		IssuedAt: who.IssuedAt.Unix(), ExpiresAt: who.IdleExpiresAt.Unix(), Act: wire.ActOf(who.Act),
	}
	if who.AuthMethod != "" { // the user was authenticated: nobody acts for the user
		answer.Methods, answer.AuthTime = []string{who.AuthMethod}, who.AuthTime.Unix()
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// revoke ends the login of a token that a resource server was shown. The answer
// says nothing about the token: one that is unknown, dead or no token at all is revoked
// as it is (RFC 7009 section 2.2).
func (s *server) revoke(c *gin.Context) error {
	text, err := tokenOf(c)
	if err != nil {
		return err
	}
	t, err := flakepass.ParseToken(text)
	if err != nil {
		c.Status(http.StatusOK)
		return nil
	}
	err = s.Own.Revoke(c.Request.Context(), s.client(c), t)
	if !session.Done(err) {
		return err
	}
	// Unpublished: it is over for good, and elsewhere within the bound. RFC 7009 section 2
	// knows of such a delay, and 503 would say that the token lives.
	c.Status(http.StatusOK)
	return nil
}

// Recognition answers for the tokens that other services are shown.
type Recognition interface {
	// Examine is Verify, and says what the answer relies on.
	Examine(ctx context.Context, t flakepass.Token) (flakepass.Identity, session.Accept, error)
	// Used notes a use, and reports whether that login lives and has that hash.
	Used(ctx context.Context, u session.Use) (bool, error)
	// Horizon is the instant up to which every end, the global floor and the
	// policy are known here; zero if there is none yet.
	Horizon() time.Time
	// Clock is the clock of the database, by which sessions end.
	Clock() time.Time
}

// InForce has the policy that is in force here.
type InForce interface{ Current() *policy.Policy }

// News is what this instance learns about logins.
type News interface {
	// Follow calls send with each bulletin for that account until ctx ends, send returns
	// an error, another account needs the place, or the instance stops. It begins after
	// the mark of an earlier bulletin if that is possible.
	Follow(ctx context.Context, account idworker.ID, after string, send func(session.Bulletin) error) error
}

// serviceRoutes are for services that check tokens by themselves.
func (s *server) serviceRoutes(v1 gin.IRouter) {
	g := v1.Group("", s.admitService(servicekey.Verify), s.only(account.RoleService, account.RoleAdmin))
	g.POST("/verifications", s.do(s.verifications))
	g.GET("/revocations", s.do(s.revocations))
}

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
