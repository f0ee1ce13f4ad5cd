package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// limitNames are those of the limits as a person writes them, in order.
var limitNames = func() (all []string) {
	for _, name := range limit.Names() {
		all = append(all, strings.ReplaceAll(name, "_", "-"))
	}
	return all
}()

// A limitChange is one limit as a person writes it: its name, and so many attempts
// in so much time, such as login-address=120/1m or login-place=5/1m,20/1h,50/1d.
type limitChange struct {
	name  string
	rules []limit.Rule
}

// UnmarshalText reads it. Whether such a limit can be in force is the policy's to
// say.
func (c *limitChange) UnmarshalText(text []byte) error {
	name, rules, _ := strings.Cut(string(text), "=")
	var l limit.Limits
	places := limitsOf(&l, name)
	if places == nil {
		return fmt.Errorf("%q names no limit; write one such as login-address=120/1m, of %s", name, strings.Join(limitNames, ", "))
	}
	all := strings.Split(rules, ",")
	if len(all) > len(places) {
		return fmt.Errorf("%s takes %s; it got %d", name, plural(len(places), "rule"), len(all))
	}
	*c = limitChange{name: name}
	for _, rule := range all {
		r, err := readRule(rule)
		if err != nil {
			return err
		}
		c.rules = append(c.rules, r)
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("up to %d %ss", n, what)
}

// readRule reads 120/1m.
func readRule(text string) (limit.Rule, error) {
	bad := fmt.Errorf("%q is no rule; write attempts, a slash and a time, such as 120/1m, 20/1h or 100/30d", text)
	count, per, ok := strings.Cut(text, "/")
	n, err := strconv.ParseUint(count, 10, 31)
	var s span
	if !ok || err != nil || n == 0 || s.UnmarshalText([]byte(per)) != nil || s == 0 || time.Duration(s) > math.MaxInt32*time.Second {
		return limit.Rule{}, bad
	}
	return limit.Rule{Count: int(n), Per: time.Duration(s)}, nil
}

// limitsOf are the rules of the limit of that name, or nil if there is none.
func limitsOf(l *limit.Limits, name string) []*limit.Rule {
	if strings.Contains(name, "_") {
		return nil // the name of the API; there is one way to write it here
	}
	return l.Of(strings.ReplaceAll(name, "-", "_"))
}

// limitText is a limit as limitChange reads it, without its name.
func limitText(l *limit.Limits, name string) string {
	var all []string
	for _, r := range limitsOf(l, name) {
		if !r.None() {
			all = append(all, strconv.Itoa(r.Count)+"/"+span(r.Per).String())
		}
	}
	return strings.Join(all, ",")
}

// limitDifferences are the limits that b has otherwise than a, as b has them.
func limitDifferences(a, b *limit.Limits) (all []string) {
	for _, name := range limitNames {
		if now := limitText(b, name); now != limitText(a, name) {
			all = append(all, name+"="+now)
		}
	}
	return all
}

// changeLimits makes the changes in l.
func changeLimits(l *limit.Limits, changes []limitChange) {
	for _, c := range changes {
		for i, to := range limitsOf(l, c.name) {
			*to = limit.Rule{}
			if i < len(c.rules) {
				*to = c.rules[i]
			}
		}
	}
}

// checkLimits refuses two changes of one limit: only one could be meant.
func checkLimits(changes []limitChange) error {
	seen := map[string]bool{}
	for _, c := range changes {
		if seen[c.name] {
			return errors.New("--limit " + c.name + " is there twice; write all rules of a limit behind one, with commas")
		}
		seen[c.name] = true
	}
	return nil
}

// An overrideText is an override as a person writes it.
type overrideText struct{ of policy.Override }

func (o *overrideText) UnmarshalText(text []byte) (err error) {
	o.of, err = policy.ParseOverride(string(text))
	return err
}

func overridesOf(texts []overrideText) []policy.Override {
	return render.All(texts, func(o *overrideText) policy.Override { return o.of })
}

// overrideTexts are the overrides of a policy as overrideText reads them.
func overrideTexts(p *wire.Policy) []string {
	return render.All(policy.FromOverrides(p.Overrides), (*policy.Override).String)
}

// showSessions shows what a policy says of sessions and devices beside their number, where it
// is not what a new deployment says.
func showSessions(w io.Writer, p *wire.Policy) {
	if p.OverLimit == wire.Refuse {
		_, _ = fmt.Fprintln(w, "over the limit\trefuse")
	}
	if p.DeviceClasses != nil && !slices.Equal(p.DeviceClasses, policy.DefaultClasses()) {
		_, _ = fmt.Fprintf(w, "device classes\t%s\n", printable(strings.Join(p.DeviceClasses, ",")))
	}
	for _, o := range overrideTexts(p) {
		_, _ = fmt.Fprintf(w, "override\t%s\n", printable(o))
	}
}

// sessionsDiffer is what two policies say otherwise of it.
func sessionsDiffer(now, was *wire.Policy) (all []string) {
	if now.OverLimit != was.OverLimit {
		all = append(all, "over the limit "+printable(now.OverLimit)+", was "+printable(was.OverLimit))
	}
	if !slices.Equal(now.DeviceClasses, was.DeviceClasses) {
		all = append(all, "device classes "+printable(strings.Join(now.DeviceClasses, ","))+", were "+printable(strings.Join(was.DeviceClasses, ",")))
	}
	after, before := overrideTexts(now), overrideTexts(was)
	for _, o := range after {
		if !slices.Contains(before, o) {
			all = append(all, "override "+printable(o))
		}
	}
	for _, o := range before {
		if !slices.Contains(after, o) {
			all = append(all, "no longer override "+printable(o))
		}
	}
	return all
}
