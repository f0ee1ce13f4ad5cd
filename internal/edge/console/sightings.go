package console

import (
	"net/http"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

// Sightings hear of what may come in floods and changed nothing. Note must
// neither wait nor fail, and reports whether this is the first of its kind for a
// while. *audit.Tally is one.
type Sightings interface {
	Note(s audit.Sighting) (first bool)
}

// named is next, with the name of each request in its context: whatever logs on
// its behalf says so.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := audit.Actor{Via: audit.ViaConsole, RequestID: w.Header().Get(requestIDHeader)}
		next.ServeHTTP(w, r.WithContext(audit.NewContext(r.Context(), by)))
	})
}

// sight notes something for the record, and logs it. The action, the reason, and
// whom it is about are those of n.
func (v *visit) sight(what string, n audit.Sighting, args ...any) {
	v.note(n)
	v.logSight(what, n, args)
}

// glimpse is sight for what costs a stranger nothing to repeat: only the first of
// its kind is logged.
func (v *visit) glimpse(what string, n audit.Sighting, args ...any) {
	if v.note(n) {
		v.logSight(what, n, args)
	}
}

func (v *visit) logSight(what string, n audit.Sighting, args []any) {
	v.log(what, append(append([]any{"reason", n.Reason}, args...), "event", string(n.Action))...)
}

// log is one line about the security of an account.
func (v *visit) log(what string, args ...any) {
	args = append(args, "via", "console", "from", v.u.address(v.r), "request_id", v.w.Header().Get(requestIDHeader))
	v.u.Log.InfoContext(v.r.Context(), what, args...) //nolint:sloglint // every caller passes a constant
}

// note says who acts in n, as far as that is known here, and from where.
func (v *visit) note(n audit.Sighting) (first bool) {
	if v.u.Sightings == nil {
		return true
	}
	n.By = audit.From(v.r.Context())
	n.By.Address = v.u.address(v.r)
	return v.u.Sightings.Note(n)
}

// credentialRefused tells of a cookie that was refused, if that means something:
// one that is missing, malformed or unknown is what every stranger can send.
func (v *visit) credentialRefused(err error) {
	if r, ok := operator.Refused(err); ok {
		v.glimpse(r.What, r.Sighting, r.Args...)
	}
}
