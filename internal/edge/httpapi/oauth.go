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
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

// oauthRoutes are for the libraries of OAuth resource servers: introspection
// (RFC 7662) and revocation (RFC 7009).
func (s *server) oauthRoutes(v1 gin.IRouter) {
	route := func(path string, needs servicekey.Scope, h func(*gin.Context) error) {
		v1.POST(path, s.oauthClient(needs), s.only(account.RoleService, account.RoleAdmin), s.do(s.quotaOfOne), s.do(h))
	}
	route("/introspect", servicekey.Verify, s.introspect)
	route("/revoke", servicekey.Revoke, s.revoke)
}

// scheme is the key under which the context of a request has the scheme that an
// OAuth client used to say who it is. Where it is not set, the route is for
// others.
const scheme = "oauth scheme"

const (
	bearerScheme = "Bearer"
	basicScheme  = "Basic"
)

// oauthClient is admit for OAuth clients, with a token or a service key that has the
// scope. Many of them can only send the Basic scheme: then the password is the credential,
// whatever the name is.
func (s *server) oauthClient(needs servicekey.Scope) gin.HandlerFunc {
	return func(c *gin.Context) {
		noStore(c)
		how, it, err := s.clientCredential(c.Request)
		c.Set(scheme, how)
		if err == nil {
			err = s.shows(c, it, needs)
		}
		if err == nil {
			return
		}
		c.Abort()
		s.keyForbidden(c, err)
		s.credentialRefused(c, err)
		if refusal, refused := errors.AsType[*flakepass.Refusal](err); refused {
			s.refuseClient(c, how, refusal)
			return
		}
		s.fail(c, err)
	}
}

func (s *server) refuseClient(c *gin.Context, how string, refusal *flakepass.Refusal) {
	c.Header(problem.ChallengeHeader, challenge(how, refusal))
	writeProblem(c, problem.Problem{Status: http.StatusUnauthorized, Code: refusal.Code(), Title: refusal.Error(),
		Detail: "send a service key, or the token of a service or an admin, as Bearer or as the password of Basic"})
}

// clientCredential finds the credential of a client, and says by which scheme it came.
func (s *server) clientCredential(r *http.Request) (how string, it shown, err error) {
	password, basic := basicPassword(r.Header.Get("Authorization"))
	if !basic || len(r.Header["Authorization"]) > 1 || s.TokenHeader != "" && len(r.Header.Values(s.TokenHeader)) > 0 {
		name, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		it.token, it.key, err = flakepass.ServiceCredential(r.Header, s.TokenHeader)
		if strings.EqualFold(name, basicScheme) && errors.Is(err, flakepass.ErrMissing) {
			return basicScheme, it, flakepass.ErrMalformed // Basic, and not as RFC 7617 has it
		}
		return bearerScheme, it, err
	}
	// RFC 6749 section 2.3.1 has the password encoded like a form, and many do not
	// encode it. The text of a credential is not changed by decoding, so both are read.
	if password, err = url.QueryUnescape(password); err != nil {
		return basicScheme, it, flakepass.ErrMalformed
	}
	it.token, it.key, err = flakepass.ParseServiceCredential(password)
	return basicScheme, it, err
}

// basicPassword is the password of a header Authorization with the scheme Basic (RFC 7617).
// One or more spaces are behind the scheme (RFC 9110 section 11.4), and net/http reads one.
func basicPassword(header string) (password string, ok bool) {
	name, rest, _ := strings.Cut(header, " ")
	r := http.Request{Header: http.Header{"Authorization": {name + " " + strings.TrimLeft(rest, " ")}}}
	_, password, ok = r.BasicAuth()
	return password, ok
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
