package flakepass

import (
	"errors"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/problem"
)

// A Refusal says that a token is not accepted, and why. Its code is part of the
// HTTP contract: clients may switch on it.
//
// A Verifier says something about one login only to a caller whose secret is that of its token.
// Every other caller gets [ErrInvalid], or else [ErrExpired] or [ErrRevoked] where the ID alone
// proves that every login with such an ID is over. So a caller that merely guessed an ID learns
// nothing.
type Refusal struct {
	code, title string
	challenge   []string // its header, made once: strangers have it written as often as they like
}

func refusal(code, title string) *Refusal {
	return &Refusal{code, title, []string{problem.Bearer(problem.InvalidToken, title)}}
}

// Code is the stable name of the reason, such as token_expired.
func (r *Refusal) Code() string { return r.code }

// Error is one line in plain words.
func (r *Refusal) Error() string { return r.title }

// The refusals. Each becomes a 401 whose problem document has the code.
var (
	// ErrMissing: the request brings no token.
	ErrMissing = refusal("token_missing", "no token in the request")
	// ErrMalformed: the text was never a token. Found without asking a server.
	ErrMalformed = refusal("token_malformed", "not a token")
	// ErrInvalid: there is no such token, or its secret is wrong. The two are
	// not distinguished, on purpose.
	ErrInvalid = refusal("token_invalid", "token not valid")
	// ErrExpired: the absolute lifetime is over. The token's own ID proves it.
	ErrExpired = refusal("token_expired", "login expired")
	// ErrIdle: the token went unused for longer than the idle timeout.
	ErrIdle = refusal("token_idle_timeout", "login ended after inactivity")
	// ErrLoggedOut: its owner logged out.
	ErrLoggedOut = refusal("token_logged_out", "logged out")
	// ErrReplaced: its owner has logged in again since.
	ErrReplaced = refusal("token_replaced", "replaced by a newer login")
	// ErrRevoked: an operator or a change of password ended the login.
	ErrRevoked = refusal("token_revoked", "login revoked")
	// ErrAccountDisabled: the account was disabled.
	ErrAccountDisabled = refusal("account_disabled", "account disabled")
)

// The refusals of service keys. Each becomes a 401 as well. Beside them a key gets
// [ErrAccountDisabled] if its account is.
var (
	// ErrKeyNotAccepted: a service key, where the token of a login is expected.
	ErrKeyNotAccepted = refusal("key_not_accepted", "a service key is not accepted here")
	// ErrKeyMalformed: the text was never a service key. Found without asking a server.
	ErrKeyMalformed = refusal("key_malformed", "not a service key")
	// ErrKeyInvalid: there is no such key, or its secret is wrong. The two are not
	// distinguished, on purpose.
	ErrKeyInvalid = refusal("key_invalid", "service key not valid")
	// ErrKeyExpired: the time is over for which the key was made.
	ErrKeyExpired = refusal("key_expired", "service key expired")
	// ErrKeyRevoked: an operator revoked the key.
	ErrKeyRevoked = refusal("key_revoked", "service key revoked")
)

// ErrForbidden means that the token is good, and its holder may not do this. A [Guard]
// with [Guard.Only] finds it by the role; a handler with finer rules hands it to
// [Guard.Refuse]. It becomes a 403, which says nothing against the token.
var ErrForbidden = errors.New("role not allowed here")

// challengeKey is how maps of headers spell the name.
var challengeKey = http.CanonicalHeaderKey(problem.ChallengeHeader)

// retryAfter is how long a client is asked to wait when the answer is unknown.
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
		delete(w.Header(), ExpiresInHeader) // a look at the token before this one may have set them
		delete(w.Header(), IdleExpiresInHeader)
		p := problem.Problem{Status: http.StatusUnauthorized, Code: refusal.code, Title: refusal.title}
		if refusal == ErrMissing { // RFC 6750 section 3.1: no error code then
			challenge(problem.NoError, "")
			p.Detail = "send the header Authorization: Bearer <token>; a token in the URL or the body is not read"
		} else {
			w.Header()[challengeKey] = refusal.challenge
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
