package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

const expiryPath = "/console/expiry"

// Policies are the verbs about the policy. *operator.Policies has them.
type Policies interface {
	Current(ctx context.Context) (policy.Policy, error)
	History(ctx context.Context, before int64, limit int) ([]policy.Policy, error)
	Set(ctx context.Context, by audit.Actor, c operator.PolicyChange) (policy.Policy, policy.Effect, error)
	Revert(ctx context.Context, by audit.Actor, version int64, c operator.PolicyChange) (policy.Policy, policy.Effect, error)
}

// A Schedule says when the sweep comes next after a moment, by its schedule.
type Schedule func(spec string, after time.Time) (time.Time, error)

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

func (u *UI) showExpiry(v *visit) {
	inForce, err := u.Policies.Current(v.r.Context())
	if err != nil {
		v.unavailable("policy", err)
		return
	}
	effect := v.effect(inForce, inForce, nil)
	v.showDial(http.StatusOK, dialView{In: inputOf(&inForce), InForce: inForce, Effect: effect})
}

// showDial completes the page and shows it.
func (v *visit) showDial(status int, d dialView) {
	history, err := v.history(d.InForce.Version)
	if err != nil {
		v.unavailable("policy history", err)
		return
	}
	d.frame = v.frame(v.t.Text("expiry.title"), expiryPath, "expiry.js")
	d.Bad = len(d.Problems) > 0 || d.Conflict != nil
	d.History, d.Sweep = history, v.sweepView(d.InForce.Schedule)
	if d.Restore, err = v.restore(&d.In, &d.InForce); err != nil {
		v.unavailable("policy to go back to", err)
		return
	}
	v.render(status, "expiry", d)
}

// postExpiry previews a change, or makes it.
func (u *UI) postExpiry(v *visit, form url.Values) {
	in := readDial(form)
	inForce, err := u.Policies.Current(v.r.Context())
	if err != nil {
		v.unavailable("policy", err)
		return
	}
	next, problems := in.policy(v.t)
	if len(problems) > 0 {
		v.showDial(http.StatusUnprocessableEntity, dialView{In: in, InForce: inForce, Problems: problems})
		return
	}
	if in.WithLimits {
		old, err := v.version(in.BackTo)
		if errors.Is(err, operator.ErrNoVersion) {
			v.message(http.StatusBadRequest, v.t.message("bad_request"))
			return
		} else if err != nil {
			v.unavailable("policy to go back to", err)
			return
		}
		next.Limits, next.LimitsErr, next.Version = old.Limits, old.LimitsErr, old.Version
	}
	change := operator.PolicyChange{Version: in.Version, InForce: &inForce, Next: next, Note: in.Note}
	switch form.Get("do") {
	case "save", "confirm":
		if done := v.already(in.Version, &inForce, samePolicy(&next, &inForce)); done != "" {
			v.see(expiryPath, url.Values{"done": {done}})
			return
		}
		v.save(form, in, inForce, change)
	default:
		v.preview(in, inForce, change)
	}
}

// justMade reports whether what is in force came right after that version, and
// by whoever visits: the form was sent twice, and the first has done it.
func (v *visit) justMade(version int64, inForce *policy.Policy) bool {
	return inForce.Version == version+1 && inForce.UpdatedBy == v.who.Username
}

// preview shows what a change would do now, and changes nothing.
func (v *visit) preview(in dialInput, inForce policy.Policy, change operator.PolicyChange) {
	change.DryRun, change.Version = true, inForce.Version
	_, effect, err := v.u.Policies.Set(v.r.Context(), v.operator(), change)
	v.afterSet(in, inForce, change, &effect, err)
}

// save makes a change. One that ends many logins has to be confirmed, by somebody who has seen what these very values do.
func (v *visit) save(form url.Values, in dialInput, inForce policy.Policy, change operator.PolicyChange) {
	if form.Get("do") == "confirm" {
		if form.Get("confirm_for") != in.key() { // something else was shown: look again
			v.preview(in, inForce, change)
			return
		}
		change.Confirmed = true
	}
	var effect policy.Effect
	again := func(status int, problem string) { v.dialAsks(status, in, inForce, change, &effect, problem) }
	ok, err := v.withProof(form, "dial", again, func() (err error) {
		_, effect, err = v.u.Policies.Set(v.r.Context(), v.operator(), change)
		return err
	})
	if !ok {
		return
	}
	if err == nil {
		v.see(expiryPath, url.Values{"done": {"saved"}})
		return
	}
	v.afterSet(in, inForce, change, &effect, err)
}

// dialAsks shows the page of a change that needs password and code, which is to be
// confirmed as before.
func (v *visit) dialAsks(status int, in dialInput, inForce policy.Policy, change operator.PolicyChange, effect *policy.Effect, problem string) {
	d := dialView{In: in, InForce: inForce, Proof: problem}
	if *effect == (policy.Effect{}) { // the password was wrong, and nothing was asked of the policy
		_, *effect, _ = v.u.Policies.Set(v.r.Context(), v.operator(), operator.PolicyChange{Version: inForce.Version, Next: change.Next, Note: in.Note, DryRun: true})
	}
	d.Effect = v.effect(inForce, change.Next, effect)
	if change.Confirmed {
		d.Confirm = v.confirmView(effect, in.key())
	}
	v.showDial(status, d)
}

// afterSet shows the page after a change that was not made.
func (v *visit) afterSet(in dialInput, inForce policy.Policy, change operator.PolicyChange, effect *policy.Effect, err error) {
	d := dialView{In: in, InForce: inForce}
	status := http.StatusOK
	invalid, isInvalid := errors.AsType[*policy.InvalidError](err)
	switch {
	case isInvalid:
		status, d.Problems = http.StatusUnprocessableEntity, v.problems(invalid)
	case errors.Is(err, policy.ErrVersion):
		status = http.StatusConflict
		if d.Conflict, d.InForce, err = v.conflict(in.Version, &change.Next, v.t.rowsOf(&in)); err != nil {
			v.unavailable("policy conflict", err)
			return
		}
		d.In.Version = d.InForce.Version
		d.Effect = v.effect(d.InForce, change.Next, nil)
	case errors.Is(err, operator.ErrUnconfirmed):
		d.Effect = v.effect(inForce, change.Next, effect)
		d.Confirm = v.confirmView(effect, in.key())
	case err != nil:
		v.unavailable("policy not set", err)
		return
	default:
		d.Effect = v.effect(inForce, change.Next, effect)
		if in.Version != inForce.Version { // changed while this was being typed
			if d.Conflict, d.InForce, err = v.conflict(in.Version, &change.Next, v.t.rowsOf(&in)); err != nil {
				v.unavailable("policy conflict", err)
				return
			}
			d.In.Version = d.InForce.Version
		}
	}
	v.showDial(status, d)
}

// revertExpiry sets what was in force as an earlier version. If that ends many
// logins, it leads to the form, filled in, to be confirmed there.
func (u *UI) revertExpiry(v *visit, form url.Values) {
	to, err1 := strconv.ParseInt(form.Get("to"), 10, 64)
	version, err2 := strconv.ParseInt(form.Get("version"), 10, 64)
	if err1 != nil || err2 != nil {
		v.message(http.StatusBadRequest, v.t.message("bad_request"))
		return
	}
	back := expiryPath
	if form.Get("from") == limitsPath {
		back = limitsPath
	}
	change := operator.PolicyChange{Version: version, Note: v.t.revertNote(to)}
	_, effect, err := u.Policies.Revert(v.r.Context(), v.operator(), to, change)
	unproven := errors.Is(err, audit.ErrUnproven)
	switch {
	case err == nil:
		v.see(back, url.Values{"done": {"saved"}})
		return
	case errors.Is(err, operator.ErrNoVersion):
		v.message(http.StatusNotFound, v.t.message("not_found"))
		return
	}
	inForce, err2 := u.Policies.Current(v.r.Context())
	old, err1 := v.version(to)
	if err := errors.Join(err1, err2); err != nil {
		v.unavailable("policy not reverted", err)
		return
	}
	if samePolicy(&old, &inForce) && v.justMade(version, &inForce) { // the form was sent twice
		v.see(back, url.Values{"done": {"saved"}})
		return
	}
	in := inputOf(&old)
	in.Version, in.Note, in.BackTo, in.WithLimits = version, change.Note, to, true
	change.Next = old
	if unproven {
		v.asks, v.sent = "dial", form
		v.dialAsks(http.StatusForbidden, in, inForce, change, &effect, v.t.Text("confirm.needed"))
		return
	}
	v.afterSet(in, inForce, change, &effect, err)
}
