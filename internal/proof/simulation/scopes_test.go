package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// The classes and roles for which a policy may have overrides. Devices of other classes
// log in too.
var (
	overridden = []string{"phone", "web"}
	roles      = []string{"user", "admin"}
)

// roleOf is the role of a user.
func roleOf(user *row) string { return roles[user.id%2] }

// scopeOf is what a session is, for a policy.
func scopeOf(s *session.Session) policy.Scope {
	return policy.Scope{Class: s.Device.ClassName(), Role: s.Role}
}

// withScopes lets the policies of half of the worlds have overrides.
func (p plan) withScopes() plan {
	r := rand.New(rand.NewPCG(p.seed, 5003))
	if p.scopes = r.IntN(2) == 0 && !p.setBack; !p.scopes {
		return p
	}
	next := p.policy
	next.Overrides = p.overrides(r)
	first := p.policy.Succeed(next, layout.Time(0))
	first.Version = p.policy.Version
	p.policy = first
	return p
}

// overrides are some for some classes and roles, longer or shorter than the policy.
func (p *plan) overrides(r *rand.Rand) (all []policy.Override) {
	some := func(of policy.Scope) {
		if r.IntN(2) == 0 {
			return
		}
		idle, absolute, touch := p.times(r)
		o := policy.Override{Scope: of, Absolute: absolute}
		if r.IntN(2) == 0 {
			o.Idle, o.Touch = idle, touch
		}
		if of.Class != "" && r.IntN(2) == 0 {
			o.MaxSessions = 1 + r.IntN(p.sessions)
		}
		all = append(all, o)
	}
	for _, class := range overridden {
		some(policy.Scope{Class: class})
	}
	for _, role := range roles {
		some(policy.Scope{Role: role})
	}
	return all
}

// shortens reports whether next ends some login earlier than old.
func shortens(old, next *policy.Policy) bool {
	for _, class := range append([]string{""}, overridden...) {
		for _, role := range roles {
			a, b := old.For(class, role), next.For(class, role)
			if b.Idle < a.Idle || b.Absolute < a.Absolute {
				return true
			}
		}
	}
	return false
}

// beyond are the sessions of a user that are too many. The caller holds the database's mu.
func (d *database) beyond(u *row) (ids []idworker.ID) {
	if d.slots == 0 {
		return nil
	}
	for _, s := range session.Excess(sessionsOf(d.rowsOf(u, time.Time{})), &d.policy, overBy(d.policy, d.now())) {
		ids = append(ids, s.ID)
	}
	return ids
}

// tooMany reports whether a user has more sessions than the policy in force allows, on
// one class of devices or on all. The caller holds the database's mu.
func (d *database) tooMany(u *row) bool {
	held := map[string]int{}
	for _, r := range slotsOf(u) {
		if r.current.ID != 0 {
			held[""]++
			held[r.current.Device.ClassName()]++
		}
	}
	for class, n := range held {
		if n > max(d.policy.MostOn(class), 1) {
			return true
		}
	}
	return false
}
