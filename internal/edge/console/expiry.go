package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

const expiryPath = "/console/expiry"

// dialView is what expiry.html shows.
type dialView struct {
	frame
	In       dialInput
	Problems map[string]string // by the name of the field
	InForce  policy.Policy
	Effect   *effectView // nil if it could not be found out
	Confirm  *confirmView
	Proof    string // why password and code are asked for, or what was wrong with them
	Conflict *conflictView
	Restore  *restoreView // nil unless this goes back to a version with other limits
	Sweep    sweepView
	History  historyView
}

// A confirmView asks whether many logins are to end. For names the values that were
// shown when it asked.
type confirmView struct {
	Sentence, Button, For string
}

// inForce is the policy in force. It answers the request, and returns false, if it
// cannot be read.
func (q *request) inForce() (policy.Policy, bool) {
	p, err := q.u.Policies.Current(q.r.Context())
	if err != nil {
		q.unavailable("policy", err)
	}
	return p, err == nil
}

func (u *UI) showExpiry(q *request) {
	inForce, ok := q.inForce()
	if !ok {
		return
	}
	effect := q.effect(inForce, inForce, nil)
	q.showDial(http.StatusOK, dialView{In: inputOf(&inForce), InForce: inForce, Effect: effect})
}

// showDial completes the page and shows it.
func (q *request) showDial(status int, d dialView) {
	history, err := q.history(d.InForce.Version)
	if err != nil {
		q.unavailable("policy history", err)
		return
	}
	d.frame = q.frame(q.t.Text("expiry.title"), expiryPath, "expiry.js")
	d.Bad = len(d.Problems) > 0 || d.Conflict != nil
	d.History, d.Sweep = history, q.sweepView(d.InForce.Schedule)
	if d.Restore, err = q.restore(&d.In, &d.InForce); err != nil {
		q.unavailable("policy to go back to", err)
		return
	}
	q.render(status, "expiry", d)
}

// postExpiry previews a change, or makes it.
func (u *UI) postExpiry(q *request, form url.Values) {
	in := readDial(form)
	inForce, ok := q.inForce()
	if !ok {
		return
	}
	next, unreadable := in.policy(q.t, &inForce)
	if len(unreadable) > 0 {
		problems := q.wrongBeside(&inForce, next, in.Note)
		maps.Copy(problems, unreadable)
		q.showDial(http.StatusUnprocessableEntity, dialView{In: in, InForce: inForce, Problems: problems})
		return
	}
	if in.WithLimits {
		old, err := q.version(in.BackTo)
		if errors.Is(err, operator.ErrNoVersion) {
			q.message(http.StatusBadRequest, q.t.message("bad_request"))
			return
		} else if err != nil {
			q.unavailable("policy to go back to", err)
			return
		}
		next.Limits, next.LimitsErr, next.Version = old.Limits, old.LimitsErr, old.Version
	}
	change := operator.PolicyChange{Version: in.Version, InForce: &inForce, Next: next, Note: in.Note}
	switch form.Get("do") {
	case "save", "confirm":
		if done := q.already(in.Version, &inForce, samePolicy(&next, &inForce)); done != "" {
			q.redirect(expiryPath, url.Values{"done": {done}})
			return
		}
		q.save(form, in, inForce, change)
	default:
		q.preview(in, inForce, change)
	}
}

// justMade reports whether what is in force came right after that version, and
// by this user: the form was sent twice, and the first one has done it.
func (q *request) justMade(version int64, inForce *policy.Policy) bool {
	return inForce.Version == version+1 && inForce.UpdatedBy == q.who.Username
}

// preview shows what a change would do now, and changes nothing.
func (q *request) preview(in dialInput, inForce policy.Policy, change operator.PolicyChange) {
	change.DryRun, change.Version = true, inForce.Version
	_, effect, err := q.u.Policies.Set(q.r.Context(), q.operator(), change)
	q.afterSet(in, inForce, change, &effect, err)
}

// save makes a change. One that ends many logins has to be confirmed, after the page
// has shown what these very values do.
func (q *request) save(form url.Values, in dialInput, inForce policy.Policy, change operator.PolicyChange) {
	if form.Get("do") == "confirm" {
		if form.Get("confirm_for") != in.key() { // something else was shown: look again
			q.preview(in, inForce, change)
			return
		}
		change.Confirmed = true
	}
	var effect policy.Effect
	again := func(status int, problems ...string) { q.dialAsks(status, in, inForce, change, &effect, problems[0]) }
	ok, err := q.withProof(form, "dial", again, func() (err error) {
		_, effect, err = q.u.Policies.Set(q.r.Context(), q.operator(), change)
		return err
	})
	if !ok {
		return
	}
	if err == nil {
		q.redirect(expiryPath, url.Values{"done": {"saved"}})
		return
	}
	q.afterSet(in, inForce, change, &effect, err)
}

// dialAsks shows the page of a change that needs password and code, which is to be
// confirmed as before.
func (q *request) dialAsks(status int, in dialInput, inForce policy.Policy, change operator.PolicyChange, effect *policy.Effect, problem string) {
	d := dialView{In: in, InForce: inForce, Proof: problem}
	if *effect == (policy.Effect{}) { // the password was wrong, and nothing was asked of the policy
		_, *effect, _ = q.u.Policies.Set(q.r.Context(), q.operator(), operator.PolicyChange{Version: inForce.Version, Next: change.Next, Note: in.Note, DryRun: true})
	}
	d.Effect = q.effect(inForce, change.Next, effect)
	if change.Confirmed {
		d.Confirm = q.confirmView(effect, in.key())
	}
	q.showDial(status, d)
}

// afterSet shows the page after a preview, or a change that was not made.
func (q *request) afterSet(in dialInput, inForce policy.Policy, change operator.PolicyChange, effect *policy.Effect, err error) {
	d := dialView{In: in, InForce: inForce}
	status := http.StatusOK
	wrong, isInvalid := errors.AsType[*invalid.Error](err)
	behind := errors.Is(err, policy.ErrVersion)
	switch {
	case isInvalid:
		status, d.Problems = http.StatusUnprocessableEntity, q.problems(wrong)
		q.showDial(status, d)
		return
	case behind:
		status, effect = http.StatusConflict, nil
	case errors.Is(err, operator.ErrUnconfirmed):
		d.Confirm = q.confirmView(effect, in.key())
	case err != nil:
		q.unavailable("policy not set", err)
		return
	default:
		behind = in.Version != inForce.Version // changed while this was being typed
	}
	if behind {
		if d.Conflict, d.InForce, err = q.conflict(in.Version, &change.Next, q.t.rowsOf(&in)); err != nil {
			q.unavailable("policy conflict", err)
			return
		}
		d.In.Version = d.InForce.Version
	}
	d.Effect = q.effect(d.InForce, change.Next, effect)
	q.showDial(status, d)
}

// revertExpiry sets what was in force as an earlier version. If that ends many
// logins, it leads to the form, filled in, to be confirmed there.
func (u *UI) revertExpiry(q *request, form url.Values) {
	to, err1 := strconv.ParseInt(form.Get("to"), 10, 64)
	version, err2 := strconv.ParseInt(form.Get("version"), 10, 64)
	if err1 != nil || err2 != nil {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	back := expiryPath
	if form.Get("from") == limitsPath {
		back = limitsPath
	}
	change := operator.PolicyChange{Version: version, Note: q.t.revertNote(to)}
	_, effect, err := u.Policies.Revert(q.r.Context(), q.operator(), to, change)
	unproven := errors.Is(err, audit.ErrUnproven)
	switch {
	case err == nil:
		q.redirect(back, url.Values{"done": {"saved"}})
		return
	case errors.Is(err, operator.ErrNoVersion):
		q.message(http.StatusNotFound, q.t.message("form_gone"))
		return
	}
	inForce, err2 := u.Policies.Current(q.r.Context())
	old, err1 := q.version(to)
	if err := errors.Join(err1, err2); err != nil {
		q.unavailable("policy not reverted", err)
		return
	}
	if samePolicy(&old, &inForce) && q.justMade(version, &inForce) { // the form was sent twice
		q.redirect(back, url.Values{"done": {"saved"}})
		return
	}
	in := inputOf(&old)
	in.Version, in.Note, in.BackTo, in.WithLimits = version, change.Note, to, true
	change.Next = old
	if unproven {
		q.keep("dial", form)
		q.asks = true
		q.dialAsks(http.StatusForbidden, in, inForce, change, &effect, q.t.Text("confirm.needed"))
		return
	}
	q.afterSet(in, inForce, change, &effect, err)
}
