package adminui

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/policy"
)

// A dialInput is a policy as a person typed it.
type dialInput struct {
	Idle, Absolute, Touch, Schedule, Note string
	Version                               int64 // that the page was made for
}

// fieldOf is the field of the form for one of the policy.
var fieldOf = map[string]string{
	"idle_timeout_seconds": "idle", "absolute_lifetime_seconds": "absolute",
	"touch_interval_seconds": "touch", "sweep_schedule": "schedule",
}

func readDial(form url.Values) dialInput {
	version, _ := strconv.ParseInt(form.Get("version"), 10, 64) // 0 is of no policy, and so a conflict
	note := []rune(typed(form, "note"))
	return dialInput{
		Idle: typed(form, "idle"), Absolute: typed(form, "absolute"), Touch: typed(form, "touch"),
		Schedule: typed(form, "schedule"), Note: string(note[:min(len(note), audit.MaxReason)]), Version: version,
	}
}

func inputOf(p *policy.Policy) dialInput {
	return dialInput{Idle: typeSpan(p.Idle), Absolute: typeSpan(p.Absolute), Touch: typeSpan(p.Touch), Schedule: p.Schedule, Version: p.Version}
}

// policy is what was typed, or what is wrong with it, by field.
func (in *dialInput) policy(t *texts) (p policy.Policy, problems map[string]string) {
	problems = map[string]string{}
	var err error
	if p.Idle, err = readSpan(in.Idle); err != nil {
		problems["idle"] = t.Dial.Idle + " " + t.Dial.Unreadable
	}
	if p.Absolute, err = readSpan(in.Absolute); err != nil {
		problems["absolute"] = t.Dial.Absolute + " " + t.Dial.Unreadable
	}
	if p.Touch, err = readSpan(in.Touch); err != nil {
		problems["touch"] = t.Dial.Touch + " " + t.Dial.Unreadable
	}
	p.Schedule = in.Schedule
	return p, problems
}

// key names what was typed, except for the note.
func (in *dialInput) key() string {
	return strings.Join([]string{in.Idle, in.Absolute, in.Touch, in.Schedule, strconv.FormatInt(in.Version, 10)}, "|")
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

func (v *visit) confirmView(e *policy.Effect, key, problem string) *confirmView {
	return &confirmView{
		Sentence: fmt.Sprintf(v.t.Dial.ConfirmF, v.t.estimate(e.Ends), percent(e.Ends.Count, e.Live.Count)),
		Button:   fmt.Sprintf(v.t.Dial.SaveAnywayF, v.t.estimate(e.Ends)), For: key, Problem: problem,
	}
}

// estimate is a number of logins, and how far it may be off.
func (t *texts) estimate(e policy.Estimate) string {
	if e.Error == 0 {
		return number(e.Count)
	}
	return number(e.Count) + " (" + fmt.Sprintf(t.Dial.ErrorF, number(e.Error)) + ")"
}

func (t *texts) revertNote(version int64) string { return fmt.Sprintf(t.Dial.NoteF, version) }
