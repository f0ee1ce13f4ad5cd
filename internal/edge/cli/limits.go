package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
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
