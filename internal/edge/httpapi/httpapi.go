// Package httpapi is the HTTP face of flakepass: the same verbs, over HTTP. It
// is the only package that knows the router. api/openapi.yaml is the truth of
// what it answers.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
	"github.com/flakepass/flakepass/internal/edge/verb"
)

// Options is what a Server is made of.
type Options struct {
	Own      *login.Service // what people do with their own accounts
	Sessions flakepass.Verifier
	Quota    Quota
	Keys     Keys

	Policies  verb.Policies
	Events    verb.Events
	Incidents audit.Incidents // nil records none
	People    verb.People
	Sweeps    Sweeps
	Instances verb.Instances

	FactorStates     verb.FactorStates
	AdminsNeedFactor bool // an admin without a second factor can do nothing but add one

	// For services that keep no store of their own.
	Recognition Recognition
	InForce     InForce
	News        News

	// Ready says why the server should get no requests; nil or empty means it
	// should.
	Ready func(ctx context.Context) []string
	// Warnings are what an operator of a server that is ready should know; nil or
	// empty means nothing.
	Warnings func() []string

	RegistrationOpen bool
	TokenHeader      string               // one more header for the token; may be empty
	ForwardKey       flakepass.ForwardKey // signs the answers to a proxy; may be zero
	Bound            time.Duration        // in the answer to a client whose logout is under way
	PublicURL        string               // where people reach the server, without a path; empty: unknown
	TrustedProxies   []netip.Prefix       // those whose headers say the address of a client
	Spec             []byte               // api/openapi.yaml
	Log              *slog.Logger
}

type server struct {
	Options
	guard   *flakepass.Guard
	leaving *flakepass.Guard // of who logs out: no use, and no time that is left

	doubted map[error]*sync.Once // what is wrong with the headers of proxies, logged once each

	undecidedAt   atomic.Int64 // the second of the last line about tokens that could not be judged
	undecidedMore atomic.Int64 // how many there were since
}

// New returns the handler of all routes.
func New(o Options) (http.Handler, error) {
	s := &server{Options: o, doubted: map[error]*sync.Once{clientaddr.ErrStrange: {}, clientaddr.ErrDisagree: {}}}
	s.guard = &flakepass.Guard{Verifier: o.Sessions, Header: o.TokenHeader, Undecided: s.undecided}
	proxied := *s.guard
	proxied.HideTimes = true // verify sets them with the rest
	s.leaving = proxied.Passive()
	e, err := s.engine()
	if err != nil {
		return nil, err
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} { // probes send either
		e.Handle(method, "/healthz", s.do(s.healthz))
		e.Handle(method, "/readyz", s.do(s.readyz))
	}
	e.GET("/openapi.yaml", s.do(s.spec))

	v1 := e.Group("/v1")
	v1.POST("/register", s.do(s.register))
	v1.POST("/login", s.do(s.login))
	v1.POST("/password-resets", s.do(s.useReset))
	v1.POST("/logout", s.do(s.logout)) // needs a token, but not a living one

	mine := v1.Group("", s.admit, s.unchanging)
	mine.GET("/me", s.do(s.me))
	mine.PUT("/me/password", s.do(s.changePassword))
	mine.POST("/me/reauthenticate", s.do(s.reauthenticate))
	s.factorRoutes(mine)
	s.deviceRoutes(mine)
	s.dataRoutes(mine)
	v1.GET("/verify", func(c *gin.Context) { s.admitTo(c, &proxied) }, s.do(s.verify))
	s.oauthRoutes(v1)
	s.serviceRoutes(v1)
	s.issueRoutes(v1)
	s.nameRoutes(v1)

	admins := v1.Group("/admin", s.admit, s.only(account.RoleAdmin))
	s.policyRoutes(admins)
	s.auditRoutes(admins)
	s.peopleRoutes(admins)
	s.keyRoutes(admins)
	s.sweepRoutes(admins)
	s.instanceRoutes(admins)
	return e, nil
}

func (s *server) engine() (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.ForwardedByClientIP = false   // only clientaddr reads what proxies say
	e.RedirectTrailingSlash = false // a redirect would take the token along
	if err := e.SetTrustedProxies(nil); err != nil {
		return nil, err
	}
	e.Use(s.begin)
	e.NoRoute(s.do(func(*gin.Context) error { return errNotFound }))
	e.NoMethod(s.do(func(*gin.Context) error { return errMethod }))
	return e, nil
}

// do runs a handler and answers for the error that it returns.
func (s *server) do(h func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			s.fail(c, err)
		}
	}
}

// answer is the end of a handler that has something to say.
func answer(c *gin.Context, status int, document any) error {
	c.JSON(status, document)
	return nil
}

// admit is the guard of most routes, as a link of gin's chain.
func (s *server) admit(c *gin.Context) { s.admitTo(c, s.guard) }

func (s *server) admitTo(c *gin.Context, g *flakepass.Guard) {
	noStore(c)
	r, err := g.Check(c.Writer, c.Request)
	if err != nil {
		s.credentialRefused(c, err)
		g.Refuse(c.Writer, c.Request, err)
		c.Abort()
		return
	}
	c.Request = r
}

// undecided logs why a token could not be judged: one line a second at most. While the database is
// slow, or away, everybody who asks about a token would write one, and who made it up as well.
func (s *server) undecided(r *http.Request, err error) {
	ctx := r.Context()
	if ctx.Err() != nil { // the client has gone
		return
	}
	last, second := s.undecidedAt.Load(), time.Now().Unix()
	if last == second || !s.undecidedAt.CompareAndSwap(last, second) {
		s.undecidedMore.Add(1)
		return
	}
	s.Log.ErrorContext(ctx, "cannot tell whether a token is good", "err", err,
		"request_id", r.Header.Get(problem.RequestIDHeader), "unlogged_before", s.undecidedMore.Swap(0))
}

// noStore keeps what was said to one caller out of every cache.
func noStore(c *gin.Context) { c.Writer.Header()["Cache-Control"] = nostore }

type status struct {
	Status   string   `json:"status"`
	Warnings []string `json:"warnings,omitempty"`
}

func (s *server) healthz(c *gin.Context) error {
	return answer(c, http.StatusOK, status{Status: "ok"})
}

// readyz says whether a load balancer should send requests here.
func (s *server) readyz(c *gin.Context) error {
	noStore(c)
	if s.Ready != nil {
		if reasons := s.Ready(c.Request.Context()); len(reasons) > 0 {
			problem.Write(c.Writer, problem.Problem{
				Status: http.StatusServiceUnavailable, Code: "not_ready", Title: "not ready",
				Reasons: reasons, RetryAfter: time.Second,
			})
			return nil
		}
	}
	out := status{Status: "ready"}
	if s.Warnings != nil {
		out.Warnings = s.Warnings()
	}
	return answer(c, http.StatusOK, out)
}

func (s *server) spec(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", s.Spec)
	return nil
}
