// Package problem writes problem documents (RFC 9457), in one place and with
// one shape, for every answer of flakepass that is not a success.
package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

// RequestIDHeader carries the ID under which a request is logged. The
// handler that receives the request sets it on the response before anything is written.
const RequestIDHeader = "X-Request-Id"

// types is where the page that explains each code lives; the code is the
// anchor.
const types = "https://github.com/flakepass/flakepass/blob/main/docs/problems.md#"

// A Problem is what went wrong, for a client. Nothing in it may come from
// a cause that the client has no business to know.
type Problem struct {
	Status     int               // HTTP status
	Code       string            // stable, snake_case; clients switch on it
	Title      string            // one line; the same for every occurrence
	Detail     string            // what to do; may be empty
	Errors     []wire.FieldError // for validation_failed
	Reasons    []string          // for not_ready
	Effect     *wire.Effect      // for confirmation_required: what would happen
	Sessions   []wire.MySession  // for session_limit: the logins of the user
	Ticket     string            // for session_limit: it stands for the proofs
	Scope      string            // for scope_missing: what the service key needs
	RetryAfter time.Duration     // rounded up to whole seconds; 0 or less means none

	// OAuth, if set, is the error code by which an OAuth client knows the problem
	// (RFC 6749 section 5.2). The document has its two members then as well, and
	// is sent as application/json, for such a client reads nothing else.
	OAuth string
}

// Unavailable is the answer when the truth cannot be asked: not a refusal.
func Unavailable(retryAfter time.Duration) Problem {
	return Problem{
		Status: http.StatusServiceUnavailable, Code: "unavailable", Title: "cannot tell right now",
		Detail: "try again, and keep the token if you have one", RetryAfter: retryAfter,
	}
}

// Write answers with p. The request ID is taken from the response header
// [RequestIDHeader]. A failed write is the client's loss and is not reported.
func Write(w http.ResponseWriter, p Problem) {
	h := w.Header()
	seconds := int(max(0, p.RetryAfter+time.Second-1) / time.Second)
	d := wire.Problem{
		Type: types + p.Code, Title: p.Title, Status: p.Status, Detail: p.Detail, Code: p.Code,
		RequestID: h.Get(RequestIDHeader), RetryAfter: seconds, Errors: p.Errors, Reasons: p.Reasons,
		Effect: p.Effect, Sessions: p.Sessions, Ticket: p.Ticket, Scope: p.Scope,
	}
	media := mediaType
	if p.OAuth != "" {
		media, d.OAuthError, d.OAuthDescription = oauthMediaType, p.OAuth, p.Title
		if p.Detail != "" {
			d.OAuthDescription += "; " + p.Detail
		}
	}
	body, err := json.Marshal(d)
	if err != nil { // strings and numbers always marshal
		panic(err)
	}
	h["Content-Type"] = media
	h["Cache-Control"] = nostore
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if seconds > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

// Values of headers, made once. They are shared safely: a slice without spare capacity is copied
// by Add.
var (
	mediaType      = []string{"application/problem+json"}
	oauthMediaType = []string{"application/json"}
	nostore        = []string{"no-store"}
)

// The errors of a challenge (RFC 6750 section 3.1).
const (
	NoError           = "" // no credential was judged
	InvalidRequest    = "invalid_request"
	InvalidToken      = "invalid_token"
	InsufficientScope = "insufficient_scope"
)

// ChallengeHeader carries a challenge.
const ChallengeHeader = "WWW-Authenticate"

// Bearer is the challenge of RFC 6750 section 3 for an answer with that error,
// and a description, which may be empty and holds neither quotes nor backslashes.
func Bearer(code, description string) string {
	challenge := `Bearer realm="flakepass"`
	if code != NoError {
		challenge += `, error="` + code + `"`
	}
	if description != "" {
		challenge += `, error_description="` + description + `"`
	}
	return challenge
}
