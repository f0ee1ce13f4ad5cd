package adminui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// A limitField is one limit on its page.
type limitField struct {
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
			Name: name, Title: t.limitName(name), Hint: t.LimitPage.Hints[name], Range: t.limitRange(name), IsDefault: true,
			Default: fmt.Sprintf(t.LimitPage.DefaultF, t.rules(def.Of(name)...)), Problem: wrong[name].Sentence,
		}
		defaults := def.Of(name)
		f.Several = len(defaults) > 1
		for i, typed := range in.Rules[name] {
			row := limitRow{Name: rowName(name, i), Label: f.Title, Typed: typed}
			if f.Several {
				row.Label = t.LimitPage.Rule + " " + strconv.Itoa(i+1)
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
func (t *texts) limitName(name string) string {
	return map[string]string{
		"login_place": t.Limits.Place, "login_account": t.Limits.Account, "login_address": t.Limits.Address,
		"register": t.Limits.Register, "introspect": t.Limits.Introspect,
	}[name]
}

// rules are rules that hold together.
func (t *texts) rules(rules ...*limit.Rule) string {
	var all []string
	for _, r := range rules {
		if !r.None() {
			all = append(all, fmt.Sprintf(t.Limits.RuleF, number(r.Count), t.span(r.Per)))
		}
	}
	return strings.Join(all, t.Limits.And)
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
		return fmt.Sprintf(t.LimitPage.OncePerSecondF, number(r.Count), a(time.Second))
	case every < time.Minute && every%time.Second != 0:
		return fmt.Sprintf(t.LimitPage.OncePerMinute, number(r.Count), a(time.Minute))
	default:
		return apart(fmt.Sprintf(t.LimitPage.OnceF, number(r.Count), t.each(every)))
	}
}

// limitRange is what may be typed for a limit.
func (t *texts) limitRange(name string) string {
	b := limit.RangeOf(name)
	all := []string{
		fmt.Sprintf(t.LimitPage.RangeF, number(b.Fewest), number(b.Most), t.span(b.Shortest), t.span(b.Longest)),
		fmt.Sprintf(t.LimitPage.EveryF, t.each(b.Wait)),
	}
	if b.Rate > 0 {
		all = append(all, fmt.Sprintf(t.LimitPage.RateF, number(int64(time.Second/b.Rate))))
	}
	if name == "login_place" {
		all = append(all, fmt.Sprintf(t.LimitPage.LastF, t.each(limit.Slowest)))
	}
	return apart(strings.Join(all, t.Marks.Semicolon) + t.Marks.Stop)
}

func (t *texts) outside(name string) string {
	return fmt.Sprintf(t.LimitPage.OutsideF, t.limitName(name), t.limitRange(name))
}

// wrongLimit is a sentence about one limit.
func (t *texts) wrongLimit(w limit.Wrong) string {
	switch w.Kind {
	case limit.Missing:
		return fmt.Sprintf(t.LimitPage.MissingF, t.limitName(w.Field))
	case limit.Unsorted:
		return t.LimitPage.Unsorted
	case limit.TooFast:
		def := limit.Default()
		return apart(fmt.Sprintf(t.LimitPage.TooFastF, t.each(limit.Slowest), t.rules(&def.LoginPlace[def.Place()-1])))
	}
	return t.outside(w.Field)
}
