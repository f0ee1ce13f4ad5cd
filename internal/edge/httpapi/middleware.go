package httpapi

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/edge/requestid"
)

// Values of headers that every answer has, made once. They are shared safely: a slice
// without spare capacity is copied by Add.
var (
	nosniff = []string{"nosniff"}
	nostore = []string{"no-store"}
	// An answer is no page, and may stand in no frame.
	noPage = []string{"default-src 'none'; frame-ancestors 'none'"}
	// Requests that follow from an answer have no Referer.
	noReferrer = []string{"no-referrer"}
)

// begin is around every request: it gives it an ID, and answers for a panic.
func (s *server) begin(c *gin.Context) {
	h := c.Writer.Header()
	id := requestID(c.Request)
	name := []string{id}
	h[problem.RequestIDHeader] = name
	// Code that has only the request, as the guard, uses the same ID.
	c.Request.Header[problem.RequestIDHeader] = name
	// So does code that has only the context, and logs.
	c.Request = c.Request.WithContext(requestid.NewContext(c.Request.Context(), id))
	h["X-Content-Type-Options"] = nosniff
	h["Content-Security-Policy"] = noPage
	h["Referrer-Policy"] = noReferrer
	debugging := s.Log.Enabled(c.Request.Context(), slog.LevelDebug)
	var start time.Time
	if debugging {
		start = time.Now()
	}
	defer func() {
		if r := recover(); r != nil {
			if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(r)
			}
			// Neither the request nor what it brought is logged.
			s.Log.ErrorContext(c.Request.Context(), "panic", "panic", r, "route", c.FullPath(),
				"request_id", h.Get(problem.RequestIDHeader), "stack", string(debug.Stack()))
			if !c.Writer.Written() {
				writeProblem(c, internal)
			}
			c.Abort()
		}
		if debugging {
			s.Log.DebugContext(c.Request.Context(), "request", "method", c.Request.Method, "route", c.FullPath(),
				"status", c.Writer.Status(), "took", time.Since(start), "request_id", h.Get(problem.RequestIDHeader))
		}
	}()
	c.Next()
}

// unchanging lets those through who act for themselves, and those who only read: an
// impersonation changes nothing of the account. The transactions of changes check it, too.
func (s *server) unchanging(c *gin.Context) {
	if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
		return
	}
	s.themselves(c)
}

// themselves lets only those through who act for themselves.
func (s *server) themselves(c *gin.Context) {
	if who, _ := flakepass.FromContext(c.Request.Context()); who.Act != 0 {
		s.fail(c, s.forbidden(c, audit.ErrImpersonated))
	}
}

// requestID is what the client calls its request, if that is harmless, or a
// name of our own.
func requestID(r *http.Request) string {
	if given := r.Header[problem.RequestIDHeader]; len(given) == 1 && harmless(given[0]) && !likeToken(given[0]) {
		return given[0]
	}
	return strconv.FormatUint(1<<63|rand.Uint64(), 36) //nolint:gosec // a name for the log, not a secret
}

func harmless(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

// likeToken reports whether a client may have put a token, a service key, the token of a reset or the credential of a device where
// the ID of a request belongs: the ID is in the log and in the answer.
func likeToken(id string) bool {
	return len(id) >= flakepass.TokenLen && (strings.Contains(id, "fp_") || strings.Contains(id, "fpk_")) ||
		len(id) >= account.ResetTokenLen && strings.Contains(id, "fpr_") || len(id) >= ratelimit.DeviceCredentialLen && strings.Contains(id, "fpd_")
}
