package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lastEvents is how many events a story has: what led to the end of it.
const lastEvents = 40

// explain is the story of a login, to find what went wrong. The
// caller holds the database's mu.
func (l *login) explain(db *database) string {
	all := slices.Clone(l.story)
	for _, s := range l.seen {
		all = append(all, event{at: s.at, what: fmt.Sprintf("the row: last used at %s by the database's clock", clock(s.seen))})
	}
	for _, p := range db.policies {
		all = append(all, event{at: p.at, what: fmt.Sprintf("policy %d: idle %v, absolute %v, bases %s and %s, overrides %+v", p.Version, p.Idle, p.Absolute, clock(p.IdleBase), clock(p.AbsoluteBase), p.Overrides)})
	}
	for _, c := range db.changes {
		all = append(all, event{at: c.from, what: "a change of the policy has its bases; it ends at " + clock(c.to)})
	}
	for _, u := range l.uses {
		all = append(all, event{at: u.from, what: "a use is being written, until " + clock(u.to)})
	}
	if !l.died.IsZero() {
		all = append(all, event{at: l.died, what: fmt.Sprintf("the row: ended; committed too late for the feed: %v", l.late)})
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	var text strings.Builder
	for _, e := range all[max(len(all)-lastEvents, 0):] {
		fmt.Fprintf(&text, "\t%s (%s) %s", clock(e.at), clock(db.shown(e.at)), e.what)
		if a := e.answer; a.by != "" {
			fmt.Fprintf(&text, "%s, asked %v before", a.by, e.at.Sub(a.asked).Round(time.Millisecond))
			if a.passive {
				text.WriteString(", passive")
			}
			if a.err != nil {
				fmt.Fprintf(&text, ": %v", a.err)
			} else {
				fmt.Fprintf(&text, ": accepted, idle at %s", clock(a.who.IdleExpiresAt))
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("15:04:05.000")
}
