package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/duration"
)

// ParseOverride reads an override as a person writes it: class: or role: and its name, an
// equals sign, and what it sets, such as class:phone=idle:90d,absolute:180d,sessions:1 or
// role:admin=absolute:12h. Of a scope with "none" behind the sign it returns one that sets
// nothing. Whether it can be in force, [Policy.Check] says.
func ParseOverride(text string) (Override, error) {
	bad := func(what string) (Override, error) {
		return Override{}, fmt.Errorf("%.80q is no override: %s; write one such as class:phone=idle:90d,absolute:180d,sessions:1 or role:admin=absolute:12h", text, what)
	}
	scope, sets, ok := strings.Cut(strings.TrimSpace(text), "=")
	kind, name, named := strings.Cut(scope, ":")
	if !ok || !named || name == "" {
		return bad("it begins with class: or role:, a name and an equals sign")
	}
	var o Override
	switch kind {
	case "class":
		o.Scope.Class = name
	case "role":
		o.Scope.Role = name
	default:
		return bad("it begins with class: or role:")
	}
	if sets == "none" {
		return o, nil
	}
	seen := map[string]bool{}
	for set := range strings.SplitSeq(sets, ",") {
		what, value, _ := strings.Cut(strings.TrimSpace(set), ":")
		if seen[what] {
			return bad("it sets " + what + " twice")
		}
		seen[what] = true
		var to *time.Duration
		switch what {
		case "idle":
			to = &o.Idle
		case "absolute":
			to = &o.Absolute
		case "touch":
			to = &o.Touch
		case "sessions":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > MostSessions {
				return bad(fmt.Sprintf("sessions is a number from 1 to %d", MostSessions))
			}
			o.MaxSessions = n
			continue
		default:
			return bad("it sets idle, absolute, touch or sessions")
		}
		d, err := duration.Parse(value)
		if err != nil || d <= 0 {
			return bad(what + " is a time such as 90d, 12h or 1m")
		}
		*to = d
	}
	return o, nil
}

// String is o as [ParseOverride] reads it.
func (o Override) String() string {
	sets := make([]string, 0, 4)
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"idle", o.Idle}, {"absolute", o.Absolute}, {"touch", o.Touch}} {
		if f.d != 0 {
			sets = append(sets, f.name+":"+duration.Format(f.d))
		}
	}
	if o.MaxSessions != 0 {
		sets = append(sets, "sessions:"+strconv.Itoa(o.MaxSessions))
	}
	if len(sets) == 0 {
		sets = []string{"none"}
	}
	return o.Scope.String() + "=" + strings.Join(sets, ",")
}

// String is class:phone or role:admin; that of the zero Scope is default.
func (s Scope) String() string {
	switch {
	case s.Class != "":
		return "class:" + s.Class
	case s.Role != "":
		return "role:" + s.Role
	}
	return "default"
}

// Override names the override of a scope, as String does; empty for the policy itself.
func (s Scope) Override() string {
	if s == (Scope{}) {
		return ""
	}
	return s.String()
}

// With is p's overrides with those of changes in place of those of the same scopes; one that
// sets nothing is left out.
func (p *Policy) With(changes []Override) []Override {
	var all []Override
	for _, o := range slices.Concat(p.Overrides, changes) {
		all = slices.DeleteFunc(all, func(k Override) bool { return k.Scope == o.Scope })
		if o != (Override{Scope: o.Scope}) {
			all = append(all, o)
		}
	}
	return all
}
