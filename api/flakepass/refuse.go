package flakepass

import (
	"errors"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/problem"
)

// ErrForbidden means that the token is good, and its holder may not do this. A [Guard]
// with [Guard.Only] finds it by the role; a handler with finer rules hands it to
// [Guard.Refuse]. It becomes a 403, which says nothing against the token.
var ErrForbidden = errors.New("role not allowed here")

// retryAfter is how long a client is asked to wait when nobody can tell.
const retryAfter = time.Second

// Refuse writes the answer for a request that is not let through: 401 for a
// [*Refusal], 403 for [ErrForbidden], 400 for [ErrAmbiguous], and 503 for any
// other error. The challenges are those of RFC 6750 section 3.
func (g *Guard) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	challenge := func(code, description string) {
		w.Header().Set(problem.ChallengeHeader, problem.Bearer(code, description))
	}
	var refusal *Refusal
	if errors.As(err, &refusal) {
		p := problem.Problem{Status: http.StatusUnauthorized, Code: refusal.code, Title: refusal.title}
		if refusal == ErrMissing { // RFC 6750 section 3.1: no error code then
			challenge(problem.NoError, "")
			p.Detail = "send the header Authorization: Bearer <token>; a token in the URL or the body is not read"
		} else {
			challenge(problem.InvalidToken, refusal.title)
		}
		problem.Write(w, p)
		return
	}
	switch {
	case errors.Is(err, ErrForbidden):
		challenge(problem.InsufficientScope, "")
		problem.Write(w, problem.Problem{
			Status: http.StatusForbidden, Code: "forbidden", Title: "not allowed for this role",
			Detail: "use the token of an account whose role may do this",
		})
	case errors.Is(err, ErrAmbiguous):
		challenge(problem.InvalidRequest, "")
		problem.Write(w, problem.Problem{
			Status: http.StatusBadRequest, Code: "credentials_ambiguous", Title: "more than one credential",
			Detail: "send exactly one token, in one header",
		})
	default:
		if g.Undecided != nil {
			g.Undecided(r, err)
		}
		problem.Write(w, problem.Unavailable(retryAfter))
	}
}
