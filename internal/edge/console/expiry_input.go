package console

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A dialInput is a policy as a person typed it.
type dialInput struct {
	Idle, Absolute, Touch, Schedule, Note string
	Version                               int64 // that the page was made for
	// BackTo is the version that this goes back to, whose limits it sets too if
	// WithLimits; 0 if it goes back to none.
	BackTo     int64
	WithLimits bool
}

// fieldOf is the field of the form for one of the policy.
var fieldOf = map[string]string{
	"idle_timeout_seconds": "idle", "absolute_lifetime_seconds": "absolute",
	"touch_interval_seconds": "touch", "sweep_schedule": "schedule", "limits": "limits", "note": "note",
}

func readDial(form url.Values) dialInput {
	in := dialInput{
		Idle: typed(form, "idle"), Absolute: typed(form, "absolute"), Touch: typed(form, "touch"),
		Schedule: typed(form, "schedule"), Note: readNote(form), Version: readVersion(form),
	}
	if to, err := strconv.ParseInt(form.Get("back_to"), 10, 64); err == nil && to > 0 {
		in.BackTo, in.WithLimits = to, form.Get("with_limits") != ""
	}
	return in
}

func inputOf(p *policy.Policy) dialInput {
	return dialInput{Idle: typeSpan(p.Idle), Absolute: typeSpan(p.Absolute), Touch: typeSpan(p.Touch), Schedule: p.Schedule, Version: p.Version}
}

// policy is what was typed, or what is wrong with it, by field.
func (in *dialInput) policy(t *texts) (p policy.Policy, problems map[string]string) {
	problems = map[string]string{}
	var err error
	if p.Idle, err = readSpan(in.Idle); err != nil {
		problems["idle"] = t.Text("expiry.unreadable", t.Text("expiry.idle"))
	}
	if p.Absolute, err = readSpan(in.Absolute); err != nil {
		problems["absolute"] = t.Text("expiry.unreadable", t.Text("expiry.absolute"))
	}
	if p.Touch, err = readSpan(in.Touch); err != nil {
		problems["touch"] = t.Text("expiry.unreadable", t.Text("expiry.touch"))
	}
	p.Schedule = in.Schedule
	return p, problems
}

// key names what was typed, except for the note.
func (in *dialInput) key() string {
	return strings.Join([]string{in.Idle, in.Absolute, in.Touch, in.Schedule, strconv.FormatInt(in.Version, 10)}, "|") + in.limitsKey()
}

func (in *dialInput) limitsKey() string {
	if !in.WithLimits {
		return ""
	}
	return "|" + strconv.FormatInt(in.BackTo, 10)
}

// samePolicy reports whether a is in force where b is; limits that are zero stay
// as they are.
func samePolicy(a, b *policy.Policy) bool {
	return sameTerms(a, b) && (a.Limits == limit.Limits{} || a.Limits == b.Limits && b.LimitsErr == nil)
}

func sameTerms(a, b *policy.Policy) bool {
	return a.Idle == b.Idle && a.Absolute == b.Absolute && a.Touch == b.Touch && a.Schedule == b.Schedule
}

// problems are what is wrong with a policy, in the words of the page. Each
// field has one: the first.
func (v *visit) problems(e *policy.InvalidError) map[string]string {
	all := map[string]string{}
	for _, f := range e.Fields {
		field := fieldOf[f.Field]
		if all[field] == "" {
			all[field] = v.t.field(f.Field, f.Code, f.Message)
		}
	}
	return all
}

func (v *visit) confirmView(e *policy.Effect, key string) *confirmView {
	return &confirmView{
		Sentence: v.t.Text("expiry.confirm", v.t.estimate(e.Ends), percent(e.Ends.Count, e.Live.Count)),
		Button:   v.t.Text("expiry.save_anyway", v.t.estimate(e.Ends)), For: key,
	}
}

// estimate is a number of logins, and how far it may be off.
func (t *texts) estimate(e policy.Estimate) string {
	if e.Error == 0 {
		return number(e.Count)
	}
	return number(e.Count) + " (" + t.Text("expiry.error", number(e.Error)) + ")"
}

func (t *texts) revertNote(version int64) string { return t.Text("expiry.note_line", version) }
