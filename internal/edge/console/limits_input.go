package console

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A typedRule is a rule as a person typed it.
type typedRule struct{ Count, Per string }

// A limitsInput is limits as a person typed them, by the names of the limits.
type limitsInput struct {
	Rules   map[string][]typedRule
	Note    string
	Version int64 // that the page was made for
}

// rowName is the beginning of the names of the fields of one rule.
func rowName(limit string, row int) string { return limit + "_" + strconv.Itoa(row+1) }

func readLimits(form url.Values) limitsInput {
	in := limitsInput{Rules: map[string][]typedRule{}, Note: typed(form, "note"), Version: readVersion(form)}
	for _, name := range limit.Names() {
		for row := range (&limit.Limits{}).Of(name) {
			at := rowName(name, row)
			in.Rules[name] = append(in.Rules[name], typedRule{typed(form, at+"_count"), typed(form, at+"_period")})
		}
	}
	return in
}

// readVersion is the version that a form was made for; 0, which is of no policy,
// and so a conflict, if it does not say.
func readVersion(form url.Values) int64 {
	version, err := strconv.ParseInt(form.Get("version"), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// limitsOf is what the fields have of a policy.
func limitsOf(p *policy.Policy) limitsInput {
	in := limitsInput{Rules: map[string][]typedRule{}, Version: p.Version}
	for _, name := range limit.Names() {
		for _, r := range p.Limits.Of(name) {
			row := typedRule{}
			if !r.None() {
				row = typedRule{strconv.Itoa(r.Count), typeSpan(r.Per)}
			}
			in.Rules[name] = append(in.Rules[name], row)
		}
	}
	return in
}

// reset puts the default of one limit into its fields, or of all of them.
func (in *limitsInput) reset(name string) {
	def := limitsOf(&policy.Policy{Limits: limit.Default()})
	if name == "all" {
		in.Rules = def.Rules
	} else if rules, ok := def.Rules[name]; ok {
		in.Rules[name] = rules
	}
}

func (in limitsInput) same(other limitsInput) bool {
	return maps.EqualFunc(in.Rules, other.Rules, slices.Equal[[]typedRule])
}

var errRule = errors.New("not a rule")

// rule is what was typed, and false if that is none. An error means that it is
// neither.
func (r typedRule) rule() (rule limit.Rule, ok bool, err error) {
	if r == (typedRule{}) {
		return rule, false, nil
	}
	if r.Count == "" || strings.Trim(r.Count, "0123456789") != "" { // Atoi takes signs
		return rule, false, errRule
	}
	if rule.Count, err = strconv.Atoi(r.Count); err != nil {
		return rule, false, errRule
	}
	rule.Per, err = readSpan(r.Per)
	return rule, err == nil, err
}

// limits are what was typed, or what is wrong with it, by the name of the limit.
func (in *limitsInput) limits(t *texts) (l limit.Limits, wrong map[string]limitProblem) {
	wrong = map[string]limitProblem{}
	at := map[string][]int{} // in which row each rule was typed
	for _, name := range limit.Names() {
		to := l.Of(name)
		for row, typed := range in.Rules[name] {
			rule, ok, err := typed.rule()
			switch {
			case err != nil:
				p := wrong[name]
				wrong[name] = limitProblem{t.Text("limits.no_number", t.limitName(name)), append(p.Rows, row)}
			case ok && rule.None(): // a 0 would else be taken for a rule that is left out
				p := wrong[name]
				wrong[name] = limitProblem{t.outside(name), append(p.Rows, row)}
			case ok:
				*to[len(at[name])] = rule
				at[name] = append(at[name], row)
			}
		}
	}
	for _, w := range l.Check() {
		if _, known := wrong[w.Field]; known {
			continue
		}
		row := 0
		if w.Rule < len(at[w.Field]) {
			row = at[w.Field][w.Rule]
		}
		wrong[w.Field] = limitProblem{t.wrongLimit(w), []int{row}}
	}
	return l, wrong
}
