package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

const limitsPath = "/console/limits"

// limitsView is what limits.html shows.
type limitsView struct {
	frame
	Off      bool // nothing is limited, whatever the policy says
	In       limitsInput
	Wrong    map[string]limitProblem // by the name of the limit
	Note     string                  // what is wrong with the reason; may be empty
	InForce  policy.Policy
	Fields   []limitField
	Proof    string   // why password and code are asked for, or what was wrong with them
	Changes  []change // from what is in force to what is typed
	Conflict *conflictView
	History  historyView
}

// A limitProblem is what is wrong with one limit, and with which of its rows.
type limitProblem struct {
	Sentence string
	Rows     []int
}

// A problemLink is what is wrong with a field, and its ID.
type problemLink struct{ Field, Sentence string }

// Problems are all that is wrong, in the order of the page.
func (v limitsView) Problems() (all []problemLink) {
	for i := range v.Fields {
		if f := &v.Fields[i]; f.Problem != "" {
			first := 0
			if rows := v.Wrong[f.Name].Rows; len(rows) > 0 {
				first = rows[0]
			}
			all = append(all, problemLink{f.Rows[first].Name + "_count", f.Problem})
		}
	}
	if v.Note != "" {
		all = append(all, problemLink{"note", v.Note})
	}
	return all
}

func (u *UI) showLimits(q *request) {
	inForce, ok := q.inForce()
	if !ok {
		return
	}
	q.showLimits(http.StatusOK, limitsView{In: limitsOf(&inForce), InForce: inForce})
}

// showLimits completes the page and shows it.
func (q *request) showLimits(status int, view limitsView) {
	history, err := q.history(view.InForce.Version)
	if err != nil {
		q.unavailable("policy history", err)
		return
	}
	view.frame = q.frame(q.t.Text("limits.title"), limitsPath)
	view.History, view.Off = history, q.u.LimitsOff
	view.Bad = len(view.Wrong) > 0 || view.Note != "" || view.Conflict != nil
	view.Fields = q.t.limitFields(&view.In, view.Wrong)
	q.render(status, "limits", view)
}

// postLimits previews a change, or makes it. Limits end no login, so nothing has
// to be confirmed.
func (u *UI) postLimits(q *request, form url.Values) {
	in := readLimits(form)
	do := form.Get("do")
	if name, ok := strings.CutPrefix(do, "default:"); ok {
		in.reset(name)
	}
	inForce, ok := q.inForce()
	if !ok {
		return
	}
	typed, wrong := in.limits(q.t)
	if len(wrong) > 0 {
		beside := q.wrongBeside(&inForce, inForce, in.Note)
		q.showLimits(http.StatusUnprocessableEntity, limitsView{In: in, InForce: inForce, Wrong: wrong, Note: beside["note"]})
		return
	}
	change := operator.PolicyChange{Version: in.Version, InForce: &inForce, Next: inForce, Note: in.Note}
	change.Next.Limits, change.Next.LimitsErr = typed, nil
	if do != "save" {
		change.DryRun, change.Version = true, inForce.Version
	} else if done := q.already(in.Version, &inForce, typed == inForce.Limits && inForce.LimitsErr == nil); done != "" {
		q.redirect(limitsPath, url.Values{"done": {done}})
		return
	}
	again := func(status int, problems ...string) {
		q.showLimits(status, limitsView{In: in, InForce: inForce, Proof: problems[0], Changes: differing(q.t.limits(&inForce, &change.Next))})
	}
	ok, err := q.withProof(form, "limits", again, func() (err error) {
		_, _, err = u.Policies.Set(q.r.Context(), q.operator(), change)
		return err
	})
	if !ok {
		return
	}
	if err == nil && !change.DryRun {
		q.redirect(limitsPath, url.Values{"done": {"saved"}})
		return
	}
	q.limitsUnset(in, inForce, change, err)
}

// already is what to say instead of saving what is in force: that it was, or that
// it is saved, if the form was sent twice. Otherwise it is "".
func (q *request) already(version int64, inForce *policy.Policy, same bool) string {
	switch {
	case !same:
	case version == inForce.Version:
		return "same"
	case q.justMade(version, inForce):
		return "saved"
	}
	return ""
}

// limitsUnset shows the page after a preview, or a change that was not made.
func (q *request) limitsUnset(in limitsInput, inForce policy.Policy, change operator.PolicyChange, err error) {
	view := limitsView{In: in, InForce: inForce}
	status := http.StatusOK
	wrong, isInvalid := errors.AsType[*invalid.Error](err)
	conflict := errors.Is(err, policy.ErrVersion)
	switch {
	case isInvalid:
		status = http.StatusUnprocessableEntity
		for _, f := range wrong.Fields {
			view.Note = q.t.field(f) // the limits were looked at before
		}
	case conflict:
		status = http.StatusConflict
	case err != nil:
		q.unavailable("limits not set", err)
		return
	}
	if conflict || in.Version != inForce.Version { // changed while this was being typed
		view.Conflict, view.InForce, err = q.conflict(in.Version, &change.Next, q.t.limits)
		if err != nil {
			q.unavailable("policy conflict", err)
			return
		}
		view.Conflict.Rows = slices.DeleteFunc(view.Conflict.Rows, func(r conflictRow) bool { return r.Opened == r.InForce && r.InForce == r.Typed })
		view.In.Version = view.InForce.Version
	}
	view.Changes = differing(q.t.limits(&view.InForce, &change.Next))
	q.showLimits(status, view)
}

func (v limitsView) InForceIs() string {
	return v.T.Text("limits.in_force", v.InForce.Version)
}

// AllDefault reports whether the fields have the default limits.
func (v limitsView) AllDefault() bool {
	def := limit.Default()
	return v.In.same(limitsOf(&policy.Policy{Limits: def}))
}
