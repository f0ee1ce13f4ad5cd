package policy

import (
	"cmp"
	"slices"
	"time"
)

// An Override is what differs from the policy for the logins on one class of devices, or
// for those of one role. Of overrides that match the same login the shortest time counts,
// for each time by itself; a time that none of them sets is that of the policy. So an
// override may be longer than the policy.
type Override struct {
	Scope Scope // either its class or its role is set

	Idle, Absolute, Touch time.Duration // 0: not set
	// MaxSessions is how many sessions a user has at once on this class of devices;
	// 0: as many as on all together. A role has none of its own.
	MaxSessions int
}

// Longest are the watermarks at and below which every login is over, whatever its class
// and its role: those of the scope that lasts longest.
func (p *Policy) Longest(now time.Time) (issued, seen time.Time) {
	e := p.base()
	issued, seen = e.OldestIssued(now), e.OldestSeen(now)
	for _, e := range p.Scopes {
		if i := e.OldestIssued(now); i.Before(issued) {
			issued = i
		}
		if s := e.OldestSeen(now); s.Before(seen) {
			seen = s
		}
	}
	return issued, seen
}

// ShortestTouch is the touch interval of the scope that has the shortest one.
func (p *Policy) ShortestTouch() time.Duration {
	touch := p.Touch
	for _, e := range p.Scopes {
		touch = min(touch, e.Touch)
	}
	return touch
}

// LimitsClasses reports whether p allows on some class of devices fewer sessions than on
// all together.
func (p *Policy) LimitsClasses() bool {
	return slices.ContainsFunc(p.Overrides, func(o Override) bool { return o.MaxSessions != 0 })
}

// Lowers reports whether next allows fewer sessions than p, of a user or on some class of
// devices.
func (p *Policy) Lowers(next *Policy) bool {
	return next.MaxSessions < p.MaxSessions || slices.ContainsFunc(next.Overrides, func(o Override) bool {
		return next.MostOn(o.Scope.Class) < p.MostOn(o.Scope.Class)
	})
}

// By names the rules that say when a login of that class and role ends: for the idle
// timeout and for the absolute lifetime. The zero Scope is the policy itself.
func (p *Policy) By(class, role string) (idle, absolute Scope) {
	e := p.For(class, role)
	for i := range p.Overrides {
		o := &p.Overrides[i]
		if !o.matches(class, role) {
			continue
		}
		if o.Idle == e.Idle {
			idle = o.Scope
		}
		if o.Absolute == e.Absolute {
			absolute = o.Scope
		}
	}
	if e.Idle == e.Absolute && idle == (Scope{}) {
		idle = absolute // an idle timeout is never longer
	}
	return idle, absolute
}

func (o *Override) matches(class, role string) bool {
	return o.Scope.Class != "" && o.Scope.Class == class || o.Scope.Role != "" && o.Scope.Role == role
}

// resolve is what the overrides of p make of the times of a login of that class and role,
// without bases. An idle timeout is never longer than the absolute lifetime, and a touch
// interval never longer than half of the idle timeout: an override that sets only the
// lifetime need not set the others.
func (p *Policy) resolve(class, role string) Expiry {
	var e Expiry
	shorter := func(to *time.Duration, d time.Duration) {
		if d != 0 && (*to == 0 || d < *to) {
			*to = d
		}
	}
	for i := range p.Overrides {
		if o := &p.Overrides[i]; o.matches(class, role) {
			shorter(&e.Idle, o.Idle)
			shorter(&e.Absolute, o.Absolute)
			shorter(&e.Touch, o.Touch)
		}
	}
	e.Absolute = cmp.Or(e.Absolute, p.Absolute)
	e.Idle = min(cmp.Or(e.Idle, p.Idle), e.Absolute)
	e.Touch = min(cmp.Or(e.Touch, p.Touch), e.Idle/2)
	return e
}

// scopes is the table of p as the successor of old at that moment: each scope begins where
// the logins in it stood under old. A scope that p does not name stays in the table until
// nothing depends on it: a login that was over in it must not come back.
func (p *Policy) scopes(old *Policy, now time.Time) map[Scope]Expiry {
	classes, roles := map[string]bool{"": true}, map[string]bool{"": true}
	for s := range old.Scopes {
		classes[s.Class], roles[s.Role] = true, true
	}
	for i := range p.Overrides {
		classes[p.Overrides[i].Scope.Class], roles[p.Overrides[i].Scope.Role] = true, true
	}
	of := func(class, role string) Expiry {
		e, was := p.resolve(class, role), old.For(class, role)
		e.IdleBase, e.AbsoluteBase = was.OldestSeen(now), was.OldestIssued(now)
		return e
	}
	// as reports whether both say the same of every login, now and later.
	as := func(a, b Expiry) bool {
		return a.Idle == b.Idle && a.Absolute == b.Absolute && a.Touch == b.Touch &&
			a.OldestSeen(now).Equal(b.OldestSeen(now)) && a.OldestIssued(now).Equal(b.OldestIssued(now))
	}
	for class := range classes {
		same := true
		for role := range roles {
			same = same && as(of(class, role), of("", role))
		}
		if class != "" && same {
			delete(classes, class)
		}
	}
	for role := range roles {
		same := true
		for class := range classes {
			same = same && as(of(class, role), of(class, ""))
		}
		if role != "" && same {
			delete(roles, role)
		}
	}
	table := map[Scope]Expiry{}
	for class := range classes {
		for role := range roles {
			table[Scope{class, role}] = of(class, role)
		}
	}
	if len(table) == 1 { // of the policy itself
		return nil
	}
	return table
}

// A Part is the logins of one scope of a table, with their times. It names the classes and
// the roles of the table: without a class it is the logins on devices of none of them, and
// so it is with roles.
type Part struct {
	Scope
	Classes, Roles []string
	Expiry
}

// Parts are those of p in which logins end before the marks of [Policy.Longest].
func (p *Policy) Parts(now time.Time) []Part {
	var parts []Part
	issued, seen := p.Longest(now)
	for s, e := range p.Scopes {
		if e.OldestIssued(now).After(issued) || e.OldestSeen(now).After(seen) {
			parts = append(parts, Part{Scope: s, Expiry: e})
		}
	}
	var classes, roles []string
	for s := range p.Scopes {
		if s.Class != "" && s.Role == "" {
			classes = append(classes, s.Class)
		}
		if s.Class == "" && s.Role != "" {
			roles = append(roles, s.Role)
		}
	}
	for i := range parts {
		parts[i].Classes, parts[i].Roles = classes, roles
	}
	return parts
}
