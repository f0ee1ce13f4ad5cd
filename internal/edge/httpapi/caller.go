package httpapi

import (
	"context"
	"errors"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// Keys recognises the keys of services. *servicekey.Service is one.
type Keys interface {
	// Verify fails with a [*flakepass.Refusal], [servicekey.ErrRole], a
	// [*servicekey.ScopeError], or any other error if the answer is unknown.
	Verify(ctx context.Context, k flakepass.ServiceKey, needs servicekey.Scope) (servicekey.Held, error)
}

// A shown is the credential of another back end: a token, or a service key.
type shown struct {
	token flakepass.Token
	key   flakepass.ServiceKey
}

func (c shown) reveal() string {
	if c.key.IsZero() {
		return c.token.Reveal()
	}
	return c.key.Reveal()
}

// Keys of the context of a request: what its sender has shown, and the ID of the service
// key, if it was one.
const (
	shownKey     = "credential of a service"
	serviceKeyID = "service key"
	keyScopes    = "scopes of the service key"
)

// shows finds out who has shown that credential, to a route that is for keys with that
// scope, and notes it. A token needs no scope: the role of its user decides.
func (s *server) shows(c *gin.Context, it shown, needs servicekey.Scope) error {
	who, key, err := s.identify(c.Request.Context(), it, needs)
	if err != nil {
		return err
	}
	c.Set(shownKey, it)
	if key.ID != 0 {
		c.Set(serviceKeyID, key.ID)
		c.Set(keyScopes, key.Scopes)
	}
	c.Request = c.Request.WithContext(flakepass.NewContext(c.Request.Context(), who))
	return nil
}

func (s *server) identify(ctx context.Context, it shown, needs servicekey.Scope) (who flakepass.Identity, key servicekey.Held, err error) {
	if it.key.IsZero() {
		who, err = s.Sessions.Verify(ctx, it.token)
		return who, key, err
	}
	key, err = s.Keys.Verify(ctx, it.key, needs)
	return flakepass.Identity{UserID: flakepass.ID(key.UserID), Username: key.Username, Role: key.Role}, key, err
}

// stillService is nil as long as a credential is good for a stream.
func (s *server) stillService(ctx context.Context, it shown) error {
	who, _, err := s.identify(ctx, it, servicekey.Verify)
	if err == nil && !slices.Contains([]account.Role{account.RoleService, account.RoleAdmin}, account.Role(who.Role)) {
		err = errOver
	}
	return err
}

// admitService is admit for the routes of services: it also takes a service key with that
// scope.
func (s *server) admitService(needs servicekey.Scope) gin.HandlerFunc {
	return func(c *gin.Context) {
		token, key, err := flakepass.ServiceCredential(c.Request.Header, s.TokenHeader)
		if key.IsZero() && !errors.Is(err, flakepass.ErrKeyMalformed) {
			if s.admit(c); err == nil {
				c.Set(shownKey, shown{token: token})
			}
			return
		}
		noStore(c)
		if err == nil {
			err = s.shows(c, shown{key: key}, needs)
		}
		if err != nil {
			c.Abort()
			s.keyForbidden(c, err)
			s.fail(c, err)
		}
	}
}

// admitKey is admitService for what only a key may do. A token is refused without a look at it.
func (s *server) admitKey(needs servicekey.Scope) gin.HandlerFunc {
	admit := s.admitService(needs)
	return func(c *gin.Context) {
		if _, key, err := flakepass.ServiceCredential(c.Request.Header, s.TokenHeader); err == nil && key.IsZero() {
			c.Abort()
			noStore(c)
			s.fail(c, errNoKey)
			return
		}
		admit(c)
	}
}

// keyForbidden records a key that is good, and not for this.
func (s *server) keyForbidden(c *gin.Context, err error) {
	known, ok := errors.AsType[*servicekey.RefusedError](err)
	_, scope := errors.AsType[*servicekey.ScopeError](err)
	if !ok || !scope && !errors.Is(err, servicekey.ErrRole) {
		return
	}
	by := actor(c, flakepass.Identity{UserID: flakepass.ID(known.UserID), Username: known.Username})
	s.logFirst(c, "forbidden", audit.Incident{By: by, Action: audit.AccessForbidden, Reason: c.Request.Method + " " + c.FullPath()},
		"user_id", known.UserID.String(), "key_id", known.ID.String())
}

// scopeMissing answers for a key that has not the scope that a route is for. Like every 403
// it has a challenge, but for OAuth clients: see [server.fail].
func (s *server) scopeMissing(c *gin.Context, needs servicekey.Scope) {
	if c.GetString(scheme) == "" {
		c.Header(problem.ChallengeHeader, problem.Bearer(problem.InsufficientScope, "")+`, scope="`+string(needs)+`"`)
	}
	writeProblem(c, problem.Problem{
		Status: 403, Code: "scope_missing", Title: "the service key may not do this", Scope: string(needs),
		Detail: "use a key with the scope " + string(needs),
	})
}

// only lets those through who have one of the roles. It stands behind admit.
func (s *server) only(roles ...account.Role) gin.HandlerFunc {
	return s.do(func(c *gin.Context) error {
		who, _ := flakepass.FromContext(c.Request.Context())
		if !slices.Contains(roles, account.Role(who.Role)) {
			return s.forbidden(c, flakepass.ErrForbidden)
		}
		err := s.needsFactor(c, who)
		if err != nil {
			c.Abort()
		}
		return err
	})
}

// forbidden ends the request of a caller who is known and may not do this. It records and
// logs that (OWASP ASVS 5.0, 16.3.2), and returns why.
func (s *server) forbidden(c *gin.Context, why error) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	n, args := operator.Forbidden(actor(c, who), who, c.Request.Method+" "+c.FullPath())
	s.logIncident(c, "forbidden", n, args...)
	c.Abort()
	return why
}

// actor is the caller, for the record. The addresses of people who act on their own
// accounts are not kept there.
func actor(c *gin.Context, who flakepass.Identity) audit.Actor {
	return audit.Actor{
		ID: session.UserOf(who), Session: idworker.ID(who.SessionID), Key: keyID(c), Name: who.Username, Via: audit.ViaAPI, RequestID: c.Writer.Header().Get(problem.RequestIDHeader),
	}
}

// keyID is the ID of the service key by which the request is made, or 0.
func keyID(c *gin.Context) idworker.ID {
	id, _ := c.Value(serviceKeyID).(idworker.ID)
	return id
}

// operator is who acts by a request that only lets through, and from where.
func (s *server) operator(c *gin.Context) audit.Actor {
	who, _ := flakepass.FromContext(c.Request.Context())
	by := actor(c, who)
	by.Address = clientaddr.Text(s.address(c))
	return by
}
