package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/throttle"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// A Gate bounds what strangers may try. Its errors are [*throttle.LimitedError];
// with any other the attempt could not be counted, and is not made. Return gives
// back what Login has taken for an attempt that was no guess.
type Gate interface {
	Login(ctx context.Context, a throttle.Attempt) (throttle.Taken, error)
	LoggedIn(ctx context.Context, t throttle.Taken, user idworker.ID)
	Return(ctx context.Context, t throttle.Taken)
	NewDevice(a throttle.Attempt) throttle.DeviceCredential
	Register(ctx context.Context, from netip.Addr) error
	Introspect(ctx context.Context, caller idworker.ID, tokens int) error
	Reset(ctx context.Context, from netip.Addr) error
	WasReset(ctx context.Context, a throttle.Attempt)
}

// unguessed gives back what an attempt has taken, if err says that nobody learnt
// anything of a password by it; also if the client has left.
func (s *server) unguessed(ctx context.Context, t throttle.Taken, err error) {
	if errors.Is(err, account.ErrUndecided) {
		s.Gate.Return(ctx, t)
	}
}

// quota counts questions about that many tokens for the caller, whom the guard of
// the routes for services knows.
func (s *server) quota(c *gin.Context, tokens int) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	return s.Gate.Introspect(c.Request.Context(), session.UserOf(who), tokens)
}

// quotaOfOne is quota for the routes of which each request is about one token.
func (s *server) quotaOfOne(c *gin.Context) error {
	err := s.quota(c, 1)
	if err != nil {
		c.Abort()
	}
	return err
}

// attempt is who wants to prove to be the holder of that name. A token in the
// header, living or not, shows that the device was logged in before; whatever
// else is there is of no use, and no reason to refuse.
func (s *server) attempt(c *gin.Context, name string) throttle.Attempt {
	a := throttle.Attempt{Account: name, Address: s.address(c)}
	if normal, err := account.NormalizeUsername(name); err == nil {
		a.Account = normal // all spellings of one name count together
	}
	if t, err := flakepass.Credential(c.Request.Header, s.TokenHeader); err == nil {
		hash := session.HashOf(t)
		a.Device = hash[:]
	}
	return a
}

// asker is who makes an attempt, for the queue of hashes.
func asker(a throttle.Attempt, t throttle.Taken) account.Asker {
	return account.Asker{Network: throttle.Network(a.Address), Known: t.Known}
}

// address is where a request comes from, as far as the proxies that are believed
// say. All who have none count together. What the operator could mend is logged
// once: anybody can bring it about with each request.
func (s *server) address(c *gin.Context) netip.Addr {
	addr, err := clientaddr.Of(c.Request, s.TrustedProxies)
	if once := s.doubted[err]; once != nil {
		once.Do(func() {
			s.Log.WarnContext(c.Request.Context(), "addresses of clients not known", "err", err, "proxy", clientaddr.Text(addr))
		})
	}
	return addr
}

// limited answers for an attempt that was not made (RFC 6585 section 4), with
// the fields of draft-ietf-httpapi-ratelimit-headers.
func limited(c *gin.Context, e *throttle.LimitedError) {
	seconds := func(d time.Duration) int64 { return max(1, int64(math.Ceil(d.Seconds()))) }
	h := c.Writer.Header()
	h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", e.Policy, e.Rule.Count, seconds(e.Rule.Per)))
	h.Set("RateLimit", fmt.Sprintf("%q;r=0;t=%d", e.Policy, seconds(e.Reset)))
	tell(c, problem.Problem{
		Status: http.StatusTooManyRequests, Code: "rate_limited", Title: "too many attempts",
		Detail: "wait as long as Retry-After says", RetryAfter: time.Duration(seconds(e.Retry)) * time.Second,
	})
}
