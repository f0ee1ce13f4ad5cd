package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

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

func (u *UI) showLimits(v *visit) {
	inForce, err := u.Policies.Current(v.r.Context())
	if err != nil {
		v.unavailable("policy", err)
		return
	}
	v.showLimits(http.StatusOK, limitsView{In: limitsOf(&inForce), InForce: inForce})
}

// showLimits completes the page and shows it.
func (v *visit) showLimits(status int, view limitsView) {
	history, err := v.history(view.InForce.Version)
	if err != nil {
		v.unavailable("policy history", err)
		return
	}
	view.frame = v.frame(v.t.Text("limits.title"), limitsPath)
	view.History, view.Off = history, v.u.LimitsOff
	view.Bad = len(view.Wrong) > 0 || view.Note != "" || view.Conflict != nil
	view.Fields = v.t.limitFields(&view.In, view.Wrong)
	v.render(status, "limits", view)
}

// postLimits previews a change, or makes it. Limits end no login, so nothing has
// to be confirmed.
func (u *UI) postLimits(v *visit, form url.Values) {
	in := readLimits(form)
	do := form.Get("do")
	if name, ok := strings.CutPrefix(do, "default:"); ok {
		in.reset(name)
	}
	inForce, err := u.Policies.Current(v.r.Context())
	if err != nil {
		v.unavailable("policy", err)
		return
	}
	typed, wrong := in.limits(v.t)
	if len(wrong) > 0 {
		v.showLimits(http.StatusUnprocessableEntity, limitsView{In: in, InForce: inForce, Wrong: wrong})
		return
	}
	change := operator.PolicyChange{Version: in.Version, InForce: &inForce, Next: inForce, Note: in.Note}
	change.Next.Limits, change.Next.LimitsErr = typed, nil
	if do != "save" {
		change.DryRun, change.Version = true, inForce.Version
	} else if done := v.already(in.Version, &inForce, typed == inForce.Limits && inForce.LimitsErr == nil); done != "" {
		v.see(limitsPath, url.Values{"done": {done}})
		return
	}
	again := func(status int, problem string) {
		v.showLimits(status, limitsView{In: in, InForce: inForce, Proof: problem, Changes: differing(v.t.limits(&inForce, &change.Next))})
	}
	ok, err := v.withProof(form, "limits", again, func() (err error) {
		_, _, err = u.Policies.Set(v.r.Context(), v.operator(), change)
		return err
	})
	if !ok {
		return
	}
	if err == nil && !change.DryRun {
		v.see(limitsPath, url.Values{"done": {"saved"}})
		return
	}
	v.limitsUnset(in, inForce, change, err)
}

// already is what to say instead of saving what is in force: that it was, or that
// it is saved, if the form was sent twice. Otherwise it is "".
func (v *visit) already(version int64, inForce *policy.Policy, same bool) string {
	switch {
	case !same:
	case version == inForce.Version:
		return "same"
	case v.justMade(version, inForce):
		return "saved"
	}
	return ""
}

// limitsUnset shows the page after a preview, or a change that was not made.
func (v *visit) limitsUnset(in limitsInput, inForce policy.Policy, change operator.PolicyChange, err error) {
	view := limitsView{In: in, InForce: inForce}
	status := http.StatusOK
	invalid, isInvalid := errors.AsType[*policy.InvalidError](err)
	conflict := errors.Is(err, policy.ErrVersion)
	switch {
	case isInvalid:
		status = http.StatusUnprocessableEntity
		for _, f := range invalid.Fields {
			view.Note = v.t.field(f.Field, f.Code, f.Message) // the limits were looked at before
		}
	case conflict:
		status = http.StatusConflict
	case err != nil:
		v.unavailable("limits not set", err)
		return
	}
	if conflict || in.Version != inForce.Version { // changed while this was being typed
		view.Conflict, view.InForce, err = v.conflict(in.Version, &change.Next, v.t.limits)
		if err != nil {
			v.unavailable("policy conflict", err)
			return
		}
		view.Conflict.Rows = slices.DeleteFunc(view.Conflict.Rows, func(r conflictRow) bool { return r.Opened == r.InForce && r.InForce == r.Typed })
		view.In.Version = view.InForce.Version
	}
	view.Changes = differing(v.t.limits(&view.InForce, &change.Next))
	v.showLimits(status, view)
}

// InForceIs says which version is in force.
func (v limitsView) InForceIs() string {
	return v.T.Text("limits.in_force", v.InForce.Version)
}

// AllDefault reports whether the fields have the default limits.
func (v limitsView) AllDefault() bool {
	def := limit.Default()
	return v.In.same(limitsOf(&policy.Policy{Limits: def}))
}
