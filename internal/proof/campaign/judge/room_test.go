package judge_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// on is a login on a device, of a policy with that limit.
func on(device string, e judge.Event) judge.Event {
	e.Device = device
	return e
}

func most(n int, e judge.Event) judge.Event {
	e.Policy.Max = n
	return e
}

// rows is what the rows have.
func rows(begin float64, ids ...uint64) judge.Event {
	e := list(begin, ids...)
	e.Rows = true
	return e
}

func others(begin float64, kept uint64) judge.Event {
	e := event(begin, judge.EndUser, judge.Yes)
	e.Session = kept
	return e
}

func count(begin float64, n int) judge.Event {
	e := event(begin, judge.Count, judge.Yes)
	e.Counted = n
	return e
}

// TestSeveralSessions: which end of one session is none of another, and how many there may be.
func TestSeveralSessions(t *testing.T) {
	phone, tablet := on("phone", login(0, 1, 3600)), on("tablet", login(1, 2, 3600))
	web := on("web", login(2, 3, 3600))
	two, three, high := most(2, policy(-1, 3600, 7200)), most(3, policy(-1, 3600, 7200)), most(3, policy(9, 3600, 7200))
	lower := most(2, policy(5, 3600, 7200))
	used := withTimes(ask(1.5, 1, judge.Yes), 0.05, 1.45, 3601.45)
	for name, c := range map[string]struct {
		history []judge.Event
		want    int
	}{
		"a sibling is refused after a logout":             {[]judge.Event{two, phone, tablet, one(3, 1, judge.Yes), refused(4, 2, "token_logged_out")}, 2},
		"a sibling is accepted after a logout":            {[]judge.Event{two, phone, tablet, one(3, 1, judge.Yes), use(5, 2)}, 0},
		"a login elsewhere within the limit ends nothing": {[]judge.Event{two, phone, tablet, refused(4, 1, "token_replaced")}, 2},
		"the same device, and accepted past the bound":    {[]judge.Event{two, phone, on("phone", login(1, 2, 3600)), use(2.2, 1)}, 1},
		"the same device ends no other":                   {[]judge.Event{two, phone, tablet, on("phone", login(2, 3, 3600)), refused(4, 2, "token_replaced")}, 2},
		"a login above the limit ends the least recent":   {[]judge.Event{two, phone, tablet, web, refused(4, 1, "token_replaced")}, 0},
		"and not a more recent one":                       {[]judge.Event{two, phone, tablet, used, web, refused(4, 1, "token_replaced")}, 2},
		"a login of no name takes a place of its own":     {[]judge.Event{two, login(0, 1, 3600), login(1, 2, 3600), refused(4, 1, "token_replaced")}, 2},
		"more than the limit":                             {[]judge.Event{two, phone, tablet, web, use(4, 1), use(4, 2), use(4, 3)}, 1},
		"more than the limit, within the bound":           {[]judge.Event{two, phone, tablet, web, use(3.05, 1), use(4, 2), use(4, 3)}, 0},
		"refused for a login, and accepted later":         {[]judge.Event{two, phone, tablet, web, refused(2.2, 1, "token_replaced"), use(3.2, 1)}, 1},
		"idle by a shorter policy of which another has not heard, and perhaps above the limit": {
			[]judge.Event{two, phone, tablet, use(1.5, 1), web, most(2, policy(5, 2, 7200)), refused(5.15, 1, "token_idle_timeout"), ask(5.3, 1, judge.Yes)}, 0},
		"more than a lower limit":                 {[]judge.Event{three, phone, tablet, web, lower, use(6.2, 1), use(6.2, 2), use(6.2, 3)}, 1},
		"a lower limit ends the least recent":     {[]judge.Event{three, phone, tablet, web, lower, refused(6.2, 1, "token_revoked"), use(6.2, 2), use(6.2, 3)}, 0},
		"a lower limit ends no more than it must": {[]judge.Event{three, phone, tablet, lower, refused(6.2, 1, "token_revoked")}, 2},
		"back under a higher limit": {
			[]judge.Event{three, phone, tablet, web, lower, use(6.2, 2), use(6.2, 3), high, use(10, 1), use(10, 2), use(10, 3)}, 1},
		"under a higher limit, and nobody had asked": {[]judge.Event{three, phone, tablet, web, lower, high, use(11, 1), use(11, 2), use(11, 3)}, 0},
		"refused, and back under a higher limit":     {[]judge.Event{three, phone, tablet, web, lower, refused(6.2, 1, "token_revoked"), high, use(10, 1)}, 1},
		"logout of the others ends not the own":      {[]judge.Event{two, phone, tablet, others(3, 1), refused(4.2, 1, "token_logged_out")}, 2},
		"logout of the others ends the others":       {[]judge.Event{two, phone, tablet, others(3, 1), use(4.2, 2), use(4.2, 1)}, 1},

		"counted and listed":               {[]judge.Event{two, phone, audit(3, 6), list(3.1, 1), count(3.3, 1), list(3.5, 1)}, 0},
		"more are counted than listed":     {[]judge.Event{two, phone, audit(3, 6), list(3.1, 1), count(3.3, 2)}, 4},
		"fewer are counted than listed":    {[]judge.Event{two, phone, audit(3, 6), count(3.1, 0), list(3.3, 1)}, 4},
		"alive and in no row":              {[]judge.Event{two, phone, audit(3, 6), rows(3.1), ask(3.3, 1, judge.Yes)}, 5},
		"in its row after a logout":        {[]judge.Event{two, phone, one(1, 1, judge.Yes), audit(3, 6), rows(3.1, 1)}, 3},
		"in its row until the sweep comes": {[]judge.Event{policy(-1, 1, 2), on("phone", login(0, 1, 1)), audit(5, 7), rows(5.1, 1), refused(5.2, 1, "token_expired")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Judge(c.history, judge.NewRules(bound))
			if c.want == 0 && len(v.Faults) > 0 || c.want != 0 && (len(v.Faults) == 0 || v.Faults[0].Point != c.want) {
				t.Errorf("want point %d\n%v", c.want, v.Faults)
			}
		})
	}
}
