package console

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A dialInput is a policy as a person typed it.
type dialInput struct {
	Idle, Absolute, Touch, Schedule, Sessions, Note string
	Version                                         int64 // that the page was made for
	// BackTo is the version that this goes back to, whose limits it sets too if
	// WithLimits; 0 if it goes back to none.
	BackTo     int64
	WithLimits bool

	Devices devicesInput
}

// fieldOf is the field of the form for one of the policy.
var fieldOf = map[string]string{
	"idle_timeout_seconds": "idle", "absolute_lifetime_seconds": "absolute",
	"touch_interval_seconds": "touch", "sweep_schedule": "schedule", "max_sessions": "sessions",
	"over_limit": "over_limit", "device_classes": "classes", "overrides": "overrides", "limits": "limits", "note": "note",
}

func readDial(form url.Values) dialInput {
	in := dialInput{
		Idle: typed(form, "idle"), Absolute: typed(form, "absolute"), Touch: typed(form, "touch"),
		Schedule: typed(form, "schedule"), Sessions: typed(form, "sessions"), Note: typed(form, "note"), Version: readVersion(form),
	}
	in.Devices = readDevices(form)
	if to, err := strconv.ParseInt(form.Get("back_to"), 10, 64); err == nil && to > 0 {
		in.BackTo, in.WithLimits = to, form.Get("with_limits") != ""
	}
	return in
}

func inputOf(p *policy.Policy) dialInput {
	return dialInput{Idle: typeSpan(p.Idle), Absolute: typeSpan(p.Absolute), Touch: typeSpan(p.Touch), Schedule: p.Schedule, Sessions: strconv.Itoa(max(p.MaxSessions, 1)), Version: p.Version, Devices: devicesOf(p)}
}

// policy is what was typed, and what of it cannot be read, by field. A time that cannot be
// read is one beside which each time of the other fields can be right.
func (in *dialInput) policy(t *texts, inForce *policy.Policy) (p policy.Policy, problems map[string]string) {
	problems = in.Devices.into(&p, t, inForce)
	for _, f := range []struct {
		name, typed string
		to          *time.Duration
		any         time.Duration
	}{{"idle", in.Idle, &p.Idle, policy.MaxAbsolute}, {"absolute", in.Absolute, &p.Absolute, policy.MaxAbsolute}, {"touch", in.Touch, &p.Touch, policy.MinTouch}} {
		var err error
		if *f.to, err = readSpan(f.typed); err != nil {
			*f.to, problems[f.name] = f.any, t.Text("expiry.unreadable", t.Text("expiry."+f.name))
		}
	}
	p.Schedule = in.Schedule
	if in.Sessions != "" || in.Devices.Asked { // a page of an earlier version asks for neither
		n, err := strconv.Atoi(in.Sessions)
		if p.MaxSessions = n; err != nil || n < 1 || n > policy.MostSessions {
			problems["sessions"] = t.Text("field.max_sessions.invalid")
		}
	}
	return p, problems
}

// key names what was typed, except for the note. JSON has no ends of lines, of which a
// browser would make others.
func (in dialInput) key() string {
	in.Note = ""
	text, _ := json.Marshal(in) // texts and numbers always marshal
	return string(text)
}

// samePolicy reports whether a is in force where b is; limits that are zero stay
// as they are.
func samePolicy(a, b *policy.Policy) bool {
	return sameTerms(a, b) && (a.Limits == limit.Limits{} || a.Limits == b.Limits && b.LimitsErr == nil)
}

func sameTerms(a, b *policy.Policy) bool {
	return a.Idle == b.Idle && a.Absolute == b.Absolute && a.Touch == b.Touch && a.Schedule == b.Schedule && (a.MaxSessions == 0 || a.MaxSessions == b.MaxSessions) &&
		a.Refuse == b.Refuse && slices.Equal(a.DeviceClasses(), b.DeviceClasses()) && slices.Equal(a.Overrides, b.Overrides)
}

// problems are what is wrong with a policy, in the words of the page. Each
// field has one: the first.
func (q *request) problems(e *invalid.Error) map[string]string {
	all := map[string]string{}
	for _, f := range e.Fields {
		field := fieldOf[f.Field]
		if all[field] == "" {
			all[field] = q.t.field(f)
		}
	}
	return all
}

// wrongBeside is what is wrong beside what could not be read: a page names all at once.
func (q *request) wrongBeside(inForce *policy.Policy, next policy.Policy, note string) map[string]string {
	// No version is 0. So the rules are looked at, and no logins are counted.
	_, _, err := q.u.Policies.Set(q.r.Context(), q.operator(), operator.PolicyChange{InForce: inForce, Next: next, Note: note, DryRun: true})
	if wrong, is := errors.AsType[*invalid.Error](err); is {
		return q.problems(wrong)
	}
	return map[string]string{}
}

func (q *request) confirmView(e *policy.Effect, key string) *confirmView {
	return &confirmView{
		Sentence: q.t.Text("expiry.confirm", q.t.estimate(e.Ends), percent(e.Ends.Count, e.Live.Count)),
		Button:   q.t.Text("expiry.save_anyway", q.t.estimate(e.Ends)), For: key,
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

// stops are where the range of a length of time comes to rest.
const stops = "5m 10m 15m 30m 1h 2h 4h 8h 12h 1d 2d 3d 5d 7d 10d 14d 21d 30d 45d 60d 90d 120d 180d 270d 365d 400d"

// A spanField is one of the fields of the page about expiry.
type spanField struct {
	Name, Label, Hint, Value, Problem, Stops string
}

// Spans are the fields, in the order of the page.
func (d dialView) Spans() []spanField {
	t := d.T
	return []spanField{
		{"idle", t.Text("expiry.idle"), t.Text("expiry.idle_hint") + " " + t.Text("expiry.format"), d.In.Idle, d.Problems["idle"], stops},
		{"absolute", t.Text("expiry.absolute"), t.Text("expiry.absolute_hint"), d.In.Absolute, d.Problems["absolute"], stops},
		{"touch", t.Text("expiry.touch"), t.Text("expiry.touch_hint"), d.In.Touch, d.Problems["touch"], ""},
		{"schedule", t.Text("expiry.sweep"), t.Text("expiry.sweep_hint"), d.In.Schedule, d.Problems["schedule"], ""},
		{"sessions", t.Text("expiry.sessions"), t.Text("expiry.sessions_hint"), d.In.Sessions, d.Problems["sessions"], ""},
	}
}

// What the pages about expiry and about limits share is in policy.html. A part of
// a page gets the texts with what it shows.

// changesPart is what differs.
type changesPart struct {
	T       *texts
	Changes []change
}

func changes(t *texts, all []change) changesPart { return changesPart{t, all} }

// A notePart is the field for the reason of a change.
type notePart struct {
	T             *texts
	Note, Problem string
}

func policyNote(t *texts, note, problem string) notePart { return notePart{t, note, problem} }
