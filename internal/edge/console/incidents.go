package console

import (
	"net/http"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/edge/requestid"
)

// named is next, with the ID of each request in its context, so that each log line
// of the request has it.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(requestid.NewContext(r.Context(), w.Header().Get(requestIDHeader))))
	})
}

// logIncident records an incident, and logs it. The action, the reason, and whom it
// is about are those of n.
func (q *request) logIncident(what string, n audit.Incident, args ...any) {
	q.note(n)
	q.incidentLine(what, n, args)
}

// logFirst records an incident, and logs only the first of its kind: it costs a
// stranger nothing to repeat it.
func (q *request) logFirst(what string, n audit.Incident, args ...any) {
	if q.note(n) {
		q.incidentLine(what, n, args)
	}
}

func (q *request) incidentLine(what string, n audit.Incident, args []any) {
	q.log(what, append(append([]any{"reason", n.Reason}, args...), "event", string(n.Action))...)
}

// log is one line about the security of an account.
func (q *request) log(what string, args ...any) {
	args = append(args, "via", "console", "from", q.u.address(q.r), "request_id", q.w.Header().Get(requestIDHeader))
	q.u.Log.InfoContext(q.r.Context(), what, args...) //nolint:sloglint // every caller passes a constant
}

// note records n with its actor, as far as that is known here, and the address.
func (q *request) note(n audit.Incident) (first bool) {
	if q.u.Incidents == nil {
		return true
	}
	if n.By == (audit.Actor{}) {
		n.By = q.operator()
	}
	return q.u.Incidents.Note(n)
}

// credentialRefused records a cookie that was refused, if that means something:
// one that is missing, malformed or unknown is what any client can send.
func (q *request) credentialRefused(err error) {
	if r, ok := operator.Refused(err); ok {
		q.who = flakepass.Identity{} // nobody acts: the login is what it is about
		q.logFirst(r.What, r.Incident, r.Args...)
	}
}
