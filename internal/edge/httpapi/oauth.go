package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/internal/domain/account"
)

// oauthRoutes are for the libraries of OAuth resource servers: introspection
// (RFC 7662) and revocation (RFC 7009).
func (s *server) oauthRoutes(v1 gin.IRouter) {
	g := v1.Group("", s.oauthClient, s.only(account.RoleService, account.RoleAdmin), s.do(s.quotaOfOne))
	g.POST("/introspect", s.do(s.introspect))
	g.POST("/revoke", s.do(s.revoke))
}

// scheme is the key under which the context of a request has the scheme that an
// OAuth client used to say who it is. Where it is not set, the route is for
// others.
const scheme = "oauth scheme"

// clientKey is the key under which it has the token that the client sent.
const clientKey = "oauth client"

const (
	bearerScheme = "Bearer"
	basicScheme  = "Basic"
)

// oauthClient is admit for OAuth clients. Many of them can only send the Basic
// scheme: then the password is the token, whatever the name is.
func (s *server) oauthClient(c *gin.Context) {
	noStore(c)
	how, t, err := s.clientToken(c.Request)
	c.Set(scheme, how)
	if err == nil {
		var who flakepass.Identity
		if who, err = s.Sessions.Verify(c.Request.Context(), t); err == nil {
			c.Set(clientKey, t)
			c.Request = c.Request.WithContext(flakepass.NewContext(c.Request.Context(), who))
			return
		}
	}
	c.Abort()
	s.credentialRefused(c, err)
	refusal, refused := errors.AsType[*flakepass.Refusal](err)
	if !refused {
		s.fail(c, err)
		return
	}
	s.refuseClient(c, how, refusal)
}

func (s *server) refuseClient(c *gin.Context, how string, refusal *flakepass.Refusal) {
	c.Header(problem.ChallengeHeader, challenge(how, refusal))
	writeProblem(c, problem.Problem{Status: http.StatusUnauthorized, Code: refusal.Code(), Title: refusal.Error(),
		Detail: "send the token of a service or an admin, as Bearer or as the password of Basic"})
}

// clientToken finds the token of a client, and says by which scheme it came.
func (s *server) clientToken(r *http.Request) (how string, t flakepass.Token, err error) {
	_, password, basic := r.BasicAuth()
	if !basic || len(r.Header["Authorization"]) > 1 || s.TokenHeader != "" && len(r.Header.Values(s.TokenHeader)) > 0 {
		name, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		t, err = flakepass.Credential(r.Header, s.TokenHeader)
		if strings.EqualFold(name, basicScheme) && errors.Is(err, flakepass.ErrMissing) {
			return basicScheme, t, flakepass.ErrMalformed // Basic, and not as RFC 7617 has it
		}
		return bearerScheme, t, err
	}
	// RFC 6749 section 2.3.1 has the password encoded like a form, and many do not
	// encode it. The text of a token is not changed by decoding, so both are read.
	if password, err = url.QueryUnescape(password); err != nil {
		return basicScheme, t, flakepass.ErrMalformed
	}
	t, err = flakepass.ParseToken(password)
	return basicScheme, t, err
}

// challenge is in the scheme that the client used (RFC 6749 section 5.2). Basic
// is never offered to one that did not: a browser would ask a person for a
// password then, and send it along with forms of other sites ever after.
func challenge(how string, refusal *flakepass.Refusal) string {
	switch {
	case how == basicScheme:
		return `Basic realm="flakepass"`
	case refusal == flakepass.ErrMissing: // RFC 6750 section 3.1: no error code then
		return problem.Bearer(problem.NoError, "")
	default:
		return problem.Bearer(problem.InvalidToken, refusal.Error())
	}
}

// oauthError is what p is called by OAuth, or empty if this route is for others.
// RFC 6749 section 5.2, RFC 6750 section 3.1 and RFC 7009 section 2.2.1 have the
// codes.
func oauthError(c *gin.Context, p problem.Problem) string {
	how := c.GetString(scheme)
	switch {
	case how == "":
		return ""
	case p.Status == http.StatusUnauthorized && (how == basicScheme || p.Code == flakepass.ErrMissing.Code()):
		return "invalid_client"
	case p.Status == http.StatusUnauthorized:
		return "invalid_token"
	case p.Status == http.StatusForbidden && how == basicScheme:
		return "unauthorized_client"
	case p.Status == http.StatusForbidden:
		return "insufficient_scope"
	case p.Status == http.StatusServiceUnavailable, p.Status == http.StatusTooManyRequests:
		return "temporarily_unavailable"
	case p.Status >= http.StatusInternalServerError:
		return "server_error"
	default:
		return "invalid_request"
	}
}
