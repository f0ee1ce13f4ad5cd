package console

import (
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A limitField is one limit on its page.
type limitField struct {
	T                 *texts
	Name, Title, Hint string
	Default, Range    string
	Problem           string // a sentence; may be empty
	IsDefault         bool   // the fields have the default
	Rows              []limitRow
	Several           bool
}

// A limitRow is the fields of one rule, and what it comes to in words.
type limitRow struct {
	Name, Label string
	Typed       typedRule
	Words       string // empty if it cannot be read
	Wrong       bool
}

// limitFields are all limits, as they were typed.
func (t *texts) limitFields(in *limitsInput, wrong map[string]limitProblem) (all []limitField) {
	def := limit.Default()
	for _, name := range limit.Names() {
		f := limitField{
			T: t, Name: name, Title: t.limitName(name), Hint: t.Name("limits.hint", name), Range: t.limitRange(name), IsDefault: true,
			Default: t.Text("limits.default_line", t.rules(def.Of(name)...)), Problem: wrong[name].Sentence,
		}
		defaults := def.Of(name)
		f.Several = len(defaults) > 1
		for i, typed := range in.Rules[name] {
			row := limitRow{Name: rowName(name, i), Label: f.Title, Typed: typed}
			if f.Several {
				row.Label = t.Text("limits.rule") + " " + strconv.Itoa(i+1)
			}
			rule, ok, err := typed.rule()
			if ok && !rule.None() {
				row.Words = t.once(rule)
			}
			f.IsDefault = f.IsDefault && err == nil && rule == *defaults[i]
			for _, n := range wrong[name].Rows {
				row.Wrong = row.Wrong || n == i
			}
			f.Rows = append(f.Rows, row)
		}
		all = append(all, f)
	}
	return all
}

// limitName is a limit by what it counts.
func (t *texts) limitName(name string) string { return t.Name("limit", name) }

// limits are those of a and b beside each other. A policy without any, before the
// first, is as if it had the default ones: nothing was changed then.
func (t *texts) limits(a, b *policy.Policy) []change {
	was, is := a.Limits, b.Limits
	if was == (limit.Limits{}) {
		was = limit.Default()
	}
	all := make([]change, 0, len(limit.Names()))
	for _, name := range limit.Names() {
		all = append(all, change{t.limitName(name), t.rules(was.Of(name)...), t.rules(is.Of(name)...)})
	}
	return all
}

// rules are rules that hold together.
func (t *texts) rules(rules ...*limit.Rule) string {
	var all []string
	for _, r := range rules {
		if !r.None() {
			all = append(all, t.Text("limit.rule", number(r.Count), t.span(r.Per)))
		}
	}
	return strings.Join(all, t.Text("limit.and"))
}

// once is what a rule comes to: how many at once, and how fast more trickle in.
func (t *texts) once(r limit.Rule) string {
	a := func(unit time.Duration) string {
		n := float64(r.Count) * float64(unit) / float64(r.Per)
		if n >= 10 {
			return number(int64(n + 0.5))
		}
		return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0")
	}
	switch every := r.Interval(); {
	case every < time.Second:
		return t.Text("limits.once_per_second", number(r.Count), a(time.Second))
	case every < time.Minute && every%time.Second != 0:
		return t.Text("limits.once_per_minute", number(r.Count), a(time.Minute))
	default:
		return apart(t.Text("limits.once", number(r.Count), t.each(every)))
	}
}

// limitRange is what may be typed for a limit.
func (t *texts) limitRange(name string) string {
	b := limit.RangeOf(name)
	all := []string{
		t.Text("limits.range", number(b.Fewest), number(b.Most), t.span(b.Shortest), t.span(b.Longest)),
		t.Text("limits.every", t.each(b.Wait)),
	}
	if b.Rate > 0 {
		all = append(all, t.Text("limits.rate", number(int64(time.Second/b.Rate))))
	}
	if name == "login_place" {
		all = append(all, t.Text("limits.last", t.each(limit.Slowest)))
	}
	return apart(strings.Join(all, t.Text("mark.semicolon")) + t.Text("mark.stop"))
}

func (t *texts) outside(name string) string {
	return t.Text("limits.outside", t.limitName(name), t.limitRange(name))
}

// wrongLimit is a sentence about one limit.
func (t *texts) wrongLimit(w limit.Wrong) string {
	switch w.Kind {
	case limit.Missing:
		return t.Text("limits.missing", t.limitName(w.Field))
	case limit.Unsorted:
		return t.Text("limits.unsorted")
	case limit.TooFast:
		def := limit.Default()
		return apart(t.Text("limits.too_fast", t.each(limit.Slowest), t.rules(&def.LoginPlace[def.Place()-1])))
	}
	return t.outside(w.Field)
}
