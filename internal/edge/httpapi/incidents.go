package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// logIncident records an incident, and logs it. The action, the reason, and whom it
// is about are those of n.
func (s *server) logIncident(c *gin.Context, what string, n audit.Incident, args ...any) {
	s.event(c, what, append([]any{"reason", n.Reason}, append(args, "event", n.Action)...)...)
	s.note(c, n)
}

// logFirst records an incident, and logs only the first of its kind: it costs a
// stranger nothing to repeat it.
func (s *server) logFirst(c *gin.Context, what string, n audit.Incident, args ...any) {
	if s.note(c, n) {
		s.event(c, what, append([]any{"reason", n.Reason}, append(args, "event", n.Action)...)...)
	}
}

// note records n with its actor, as far as that is known here, and the address.
func (s *server) note(c *gin.Context, n audit.Incident) (first bool) {
	if s.Incidents == nil {
		return true
	}
	if n.By == (audit.Actor{}) {
		n.By = actor(c, flakepass.Identity{}) // there is no login
	}
	n.By.Address = clientaddr.Text(s.address(c))
	return s.Incidents.Note(n)
}

// credentialRefused records a token that was refused, if that means something:
// one that is missing, malformed or unknown is what any client can send, and names
// no account.
func (s *server) credentialRefused(c *gin.Context, err error) {
	if r, ok := operator.Refused(err); ok {
		s.logFirst(c, r.What, r.Incident, r.Args...)
	}
}

// What can go wrong before any domain is asked.
var (
	errNotFound  = errors.New("no such route")
	errMethod    = errors.New("no such method on this route")
	errMediaType = errors.New("body is not application/json")
	errCoding    = errors.New("body has a content coding")
	errTooLarge  = errors.New("body too large")
	errBody      = errors.New("body is not the JSON that is expected")
	errLate      = errors.New("body does not arrive in time")
	errClosed    = errors.New("registration is closed")
	errFollowers = errors.New("too many follow already")
	errNoKey     = errors.New("a token in the place of a service key")
)

var internal = problem.Problem{Status: 500, Code: "internal_error", Title: "something went wrong here"}

var forbidden = problem.Problem{
	Status: 403, Code: "forbidden", Title: "not allowed for this role", Detail: "use the token of an account whose role may do this",
}

// problems is the whole mapping from errors to the problems of the answers. An error
// that is not in it is the fault of no client: 503, with its cause in the log only.
var problems = append([]knownProblem{
	{errNotFound, problem.Problem{Status: 404, Code: "not_found", Title: "no such resource"}},
	{errMethod, problem.Problem{Status: 405, Code: "method_not_allowed", Title: "method not allowed",
		Detail: "the Allow header lists the methods of this resource"}},
	{errMediaType, problem.Problem{Status: 415, Code: "media_type_unsupported", Title: "media type not supported",
		Detail: "send Content-Type: application/json"}},
	{errCoding, problem.Problem{Status: 415, Code: "media_type_unsupported", Title: "content coding not supported",
		Detail: "send the body as it is, without Content-Encoding"}},
	{errTooLarge, problem.Problem{Status: 413, Code: "body_too_large", Title: "body too large",
		Detail: "a body may have at most 8192 bytes"}},
	{errBody, problem.Problem{Status: 400, Code: "body_malformed", Title: "body malformed",
		Detail: "send one JSON object in UTF-8 with exactly the documented fields, each once"}},
	{errLate, problem.Problem{Status: 503, Code: "unavailable", Title: "the request did not arrive in time",
		Detail: "a request has to arrive within ten seconds; send it again", RetryAfter: time.Second}},
	{errClosed, problem.Problem{Status: 403, Code: "registration_closed", Title: "registration is closed",
		Detail: "ask an administrator for an account"}},
	{login.ErrCurrent, problem.Problem{Status: 403, Code: "current_password_invalid", Title: "current password not valid"}},
	{flakepass.ErrForbidden, forbidden},
	{audit.ErrRole, forbidden},
	{servicekey.ErrRole, forbidden},
	{audit.ErrImpersonated, problem.Problem{Status: 403, Code: "impersonated", Title: "an impersonation changes nothing",
		Detail: "ask the user to do it"}},
	{operator.ErrImpersonationOff, problem.Problem{Status: 403, Code: "impersonation_off", Title: "nobody acts for a user here",
		Detail: "an administrator of the server has to set FLAKEPASS_IMPERSONATION"}},
	{session.ErrNotUser, problem.Problem{Status: 403, Code: "impersonation_refused", Title: "nobody acts for an admin or a service",
		Detail: "only an account of the role user can be acted for"}},
	{session.ErrManyActs, problem.Problem{Status: 409, Code: "impersonation_limit", Title: "the admin acts for as many users as are allowed",
		Detail: "end one of them at POST /v1/logout, or wait until one is over"}},
	{audit.ErrUnproven, problem.Problem{Status: 403, Code: "reauthentication_required", Title: "password and code are needed once more",
		Detail: "show them at POST /v1/me/reauthenticate, and send this again within ten minutes"}},
	{errForm, problem.Problem{Status: 400, Code: "body_malformed", Title: "body malformed",
		Detail: "send a form that is encoded as application/x-www-form-urlencoded"}},
	{errNoToken, problem.Problem{Status: 400, Code: "body_malformed", Title: "body malformed",
		Detail: "send the text to ask about as the parameter token"}},
	{errRepeated, problem.Problem{Status: 400, Code: "body_malformed", Title: "body malformed",
		Detail: "send each parameter once"}},
	{errTwoClients, problem.Problem{Status: 400, Code: "credentials_ambiguous", Title: "more than one credential",
		Detail: "send in the form the client_secret of the header Authorization, or none"}},
	{errFormType, problem.Problem{Status: 415, Code: "media_type_unsupported", Title: "media type not supported",
		Detail: "send Content-Type: application/x-www-form-urlencoded"}},
	{errInURL, problem.Problem{Status: 400, Code: "token_in_url", Title: "token in the URL",
		Detail: "send it in the body; what was in a URL is in logs, so revoke it"}},
	{flakepass.ErrAmbiguous, problem.Problem{Status: 400, Code: "credentials_ambiguous", Title: "more than one credential",
		Detail: "send exactly one token, in one header"}},
	{errNoCondition, problem.Problem{Status: 428, Code: "precondition_required", Title: "what is to be replaced is not said",
		Detail: "read the policy, and send its ETag as If-Match"}},
	{policy.ErrVersion, problem.Problem{Status: 412, Code: "version_conflict", Title: "changed meanwhile",
		Detail: "read the policy again, and decide again"}},
	{operator.ErrUnconfirmed, problem.Problem{Status: 409, Code: "confirmation_required", Title: "many logins would end",
		Detail: "more than one login in twenty would end at once; if that is meant, send it again with confirm: true"}},
	{account.ErrExists, problem.Problem{Status: 409, Code: "username_taken", Title: "username taken",
		Detail: "choose another username; that of a deleted account is taken until the purge"}},
	{account.ErrAliasTaken, problem.Problem{Status: 409, Code: "alias_taken", Title: "alias taken",
		Detail: "it is the username or an alias of another user, or of one who was deleted, until the purge"}},
	{operator.ErrProtected, problem.Problem{Status: 403, Code: "account_protected", Title: "a service key may not change this account",
		Detail: "it is of an admin or a service; an admin changes it at PATCH /v1/admin/users/{id}"}},
	{account.ErrLastAdmin, problem.Problem{Status: 409, Code: "last_admin", Title: "the last enabled admin",
		Detail: "make another user an admin first"}},
	{login.ErrDeletionOff, problem.Problem{Status: 403, Code: "self_deletion_off", Title: "people do not delete their own accounts here",
		Detail: "ask an administrator"}},
	{account.ErrWrong, problem.Problem{Status: 401, Code: "credentials_invalid", Title: "wrong username or password"}},
	{account.ErrReset, problem.Problem{Status: 403, Code: "reset_token_invalid", Title: "reset token not valid",
		Detail: "it is used, withdrawn, expired or mistyped; ask an administrator for a new one"}},
	{account.ErrDisabled, problem.Problem{Status: 403, Code: "account_disabled", Title: "account disabled",
		Detail: "ask an administrator"}},
	{login.ErrServiceLogin, problem.Problem{Status: 403, Code: "service_login_refused", Title: "a service does not log in with a password",
		Detail: "use a service key; an operator makes one for this account"}},
	{errNoKey, problem.Problem{Status: 403, Code: "service_key_required", Title: "a service key is needed",
		Detail: "send a service key with the scope of this route; no token may do this"}},
	{login.ErrIssueRole, problem.Problem{Status: 403, Code: "role_not_issuable", Title: "the account is of an admin or a service",
		Detail: "an operator can make a key with the scope issue:any-role, which opens such logins as well"}},
	{session.ErrRequestReused, problem.Problem{Status: 422, Code: "idempotency_key_reused", Title: "the Idempotency-Key was used before",
		Detail: "send another Idempotency-Key with each new request, and the same with the same body again"}},
	{session.ErrRequestOver, problem.Problem{Status: 422, Code: "idempotency_key_reused", Title: "the Idempotency-Key was used before",
		Detail: "the login that this request has opened has ended; authenticate the person again, and send another Idempotency-Key"}},
	{login.ErrNoRoom, problem.Problem{Status: 409, Code: "session_limit", Title: "as many logins as are allowed",
		Detail: "choose one of sessions, and send its id as end_session with the ticket, within five minutes"}},
	{secondfactor.ErrTicket, problem.Problem{Status: 401, Code: "ticket_over", Title: "ticket not valid",
		Detail: "it is too old or was used, the account or its logins have changed since, or the device needs none; send username and password"}},
	{account.ErrBusy, problem.Problem{Status: 503, Code: "busy", Title: "too many logins at once",
		Detail: "try again in a moment", RetryAfter: 2 * time.Second}},
	{account.ErrElsewhere, problem.Problem{Status: 503, Code: "unavailable", Title: "cannot tell right now",
		Detail: "whether the password is right cannot be found out now; try again in a moment", RetryAfter: 2 * time.Second}},
	{sweep.ErrRunning, problem.Problem{Status: 409, Code: "sweep_running", Title: "a sweep is running",
		Detail: "wait until it has ended; GET /v1/admin/sweeps shows it"}},
	{errFollowers, problem.Problem{Status: 503, Code: "followers_full", Title: "too many streams at once",
		Detail: "close a stream that is not needed, or try another instance", RetryAfter: 5 * time.Second}},
	{idworker.ErrTooFarAhead, problem.Unavailable(5 * time.Second)},
}, factorProblems...)

// A knownProblem is an error, and the problem that answers it.
type knownProblem struct {
	err error
	p   problem.Problem
}

// lookup is the problem that answers err, if err is in the table.
func lookup(err error) (problem.Problem, bool) {
	for _, t := range problems {
		if errors.Is(err, t.err) {
			return t.p, true
		}
	}
	return problem.Problem{}, false
}

// challenged are the problems of the table that come with a challenge for a
// bearer token, by their codes, with its error (RFC 6750 section 3.1).
var challenged = map[string]string{
	"credentials_invalid":    problem.NoError,
	"second_factor_required": problem.NoError,
	"ticket_over":            problem.NoError,
	"second_factor_invalid":  problem.NoError,
	"credentials_ambiguous":  problem.InvalidRequest,
	"forbidden":              problem.InsufficientScope,
	"second_factor_missing":  problem.InsufficientScope,
}

// fail answers for an error.
func (s *server) fail(c *gin.Context, err error) {
	if wrong, ok := errors.AsType[*invalid.Error](err); ok {
		p := problem.Problem{Status: http.StatusUnprocessableEntity, Code: "validation_failed", Title: "not acceptable as it is"}
		for _, f := range wrong.Fields {
			p.Errors = append(p.Errors, wire.FieldError{Field: f.Field, Code: f.Code, Message: f.Message})
		}
		writeProblem(c, p)
		return
	}
	if e, ok := errors.AsType[*ratelimit.LimitedError](err); ok {
		limited(c, e)
		return
	}
	if e, ok := errors.AsType[*servicekey.ScopeError](err); ok {
		s.scopeMissing(c, e.Needs)
		return
	}
	if p, ok := lookup(err); ok {
		// OAuth clients read their error in the body; oauth4webapi, for one, does not
		// look there if a 403 has a challenge.
		if code, ok := challenged[p.Code]; ok && (code != problem.InsufficientScope || c.GetString(scheme) == "") {
			c.Header(problem.ChallengeHeader, problem.Bearer(code, ""))
		}
		writeProblem(c, p)
		return
	}
	if refusal, ok := errors.AsType[*flakepass.Refusal](err); ok {
		s.loginOver(c, refusal, err)
		return
	}
	if ctx := c.Request.Context(); ctx.Err() == nil {
		s.Log.ErrorContext(ctx, "request not answered", "route", c.FullPath(), "err", err,
			"request_id", c.Writer.Header().Get(problem.RequestIDHeader))
	}
	writeProblem(c, problem.Unavailable(time.Second))
}

// loginOver answers for a login that had ended when the change was to be made, although this instance believed the token a moment ago: as the guard of the
// route would have.
func (s *server) loginOver(c *gin.Context, refusal *flakepass.Refusal, err error) {
	s.credentialRefused(c, err)
	if how := c.GetString(scheme); how != "" {
		s.refuseClient(c, how, refusal)
		return
	}
	s.guard.Refuse(c.Writer, c.Request, err)
}

// writeProblem answers with p, and with the OAuth error where the route is for OAuth clients.
func writeProblem(c *gin.Context, p problem.Problem) {
	p.OAuth = oauthError(c, p)
	problem.Write(c.Writer, p)
}
