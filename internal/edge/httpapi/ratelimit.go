package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// A Quota bounds how many tokens a service may ask about. Its error is a
// [*ratelimit.LimitedError] or a [*ratelimit.TooManyError].
type Quota interface {
	Introspect(ctx context.Context, caller idworker.ID, tokens int) error
}

// quota counts questions about that many tokens for the caller, which the guard of
// the routes for services has identified: for a service key by itself, so that the old
// one and the new one do not share a limit, and else for the account.
func (s *server) quota(c *gin.Context, tokens int) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	caller := session.UserOf(who)
	if key := keyID(c); key != 0 {
		caller = key // it is no ID of a user: all IDs come from one mint
	}
	return s.Quota.Introspect(c.Request.Context(), caller, tokens)
}

// quotaOfOne is quota for the routes of which each request counts as one token.
func (s *server) quotaOfOne(c *gin.Context) error {
	err := s.quota(c, 1)
	if err != nil {
		c.Abort()
	}
	return err
}

// address is where a request comes from, as far as the proxies that are believed
// say. All who have none count together. What the operator could mend is logged
// once: any client can cause it with each request.
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
func limited(c *gin.Context, e *ratelimit.LimitedError) {
	seconds := func(d time.Duration) int64 { return max(1, int64(math.Ceil(d.Seconds()))) }
	h := c.Writer.Header()
	h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", e.Limit, e.Rule.Count, seconds(e.Rule.Per)))
	h.Set("RateLimit", fmt.Sprintf("%q;r=0;t=%d", e.Limit, seconds(e.Reset)))
	writeProblem(c, problem.Problem{
		Status: http.StatusTooManyRequests, Code: "rate_limited", Title: "too many attempts",
		Detail: "wait as long as Retry-After says", RetryAfter: time.Duration(seconds(e.Retry)) * time.Second,
	})
}
