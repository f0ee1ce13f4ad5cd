package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// An introspection is what a resource server is told of a token that is good
// (RFC 7662 section 2.2). Times are Unix seconds, rounded down.
type introspection struct {
	Active    bool   `json:"active"`
	Subject   string `json:"sub"`
	Username  string `json:"username"`
	Role      string `json:"role"`
	TokenType string `json:"token_type"`
	JTI       string `json:"jti"` // the ID of the login: a login has one token
	IssuedAt  int64  `json:"iat"`
	Expires   int64  `json:"exp"`
}

// inactive is all that is ever said of any other: a reason would tell whoever
// found a text whether it had been a token (section 2.2).
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
		if c.GetHeader(flakepass.PassiveHeader) == "1" { // nobody is there, says the caller
			ctx = flakepass.NewPassiveContext(ctx)
		}
		who, err = s.Sessions.Verify(ctx, t)
	}
	if _, refused := errors.AsType[*flakepass.Refusal](err); refused {
		s.credentialRefused(c, err)
		c.JSON(http.StatusOK, inactive{})
		return nil
	}
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, introspection{
		Active: true, Subject: who.UserID.String(), Username: who.Username, Role: who.Role,
		TokenType: "Bearer", JTI: who.SessionID.String(),
		// The end that comes first: what is idle by then is as dead as what is old.
		IssuedAt: who.IssuedAt.Unix(), Expires: who.IdleExpiresAt.Unix(),
	})
	return nil
}

// revoke ends the login of a token that a resource server was shown. Nothing is
// told about the token: one that is unknown, dead or no token at all is revoked
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
	// Untold: it is over for good, and elsewhere within the bound. RFC 7009 section 2
	// knows of such a delay, and 503 would say that the token lives.
	c.Status(http.StatusOK)
	return nil
}
