package judge

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Fault is a point of the promise that a history breaks.
type Fault struct {
	Point   int // 1 to 6
	Text    string
	Session uint64
	Events  []*Event // the part of the history that shows it, in order
}

func (f Fault) String() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "point %d, session %d: %s\n", f.Point, f.Session, f.Text)
	for _, e := range f.Events {
		_, _ = fmt.Fprintf(&b, "  %v", e)
		if e.Op == List && e.Answer == Yes && f.Session != 0 {
			_, _ = fmt.Fprintf(&b, ", lists it: %v", e.Listed[f.Session])
		}
		_ = b.WriteByte('\n')
	}
	return b.String()
}

// A Verdict is what the judge found.
type Verdict struct {
	Faults []Fault // at most one for each session and point, in the order of their last events

	Requests, Accepts, Refusals, Undecided, Unanswered int
	Longest                                            time.Duration // from an acknowledged end to the begin of the last accept after it
	WrongRefusals, LostUses, Disagreements             int           // sessions
	Late                                               int           // accepts that began more than the bound after an acknowledged end
	Lost                                               int           // sessions of which, in calm, an acknowledged end or begin is not so
	Internal                                           int           // answers of 500 and above that are not 503
}

// A trial is one history and what was found in it so far.
type trial struct {
	Rules
	events []Event
	spans  []span
	users  []*user
	found  map[[2]uint64]bool
	Verdict
}

// Judge holds a history to the promise.
func Judge(history []Event, r Rules) Verdict {
	t := &trial{Rules: r, events: slices.Clone(history), found: map[[2]uint64]bool{}}
	slices.SortStableFunc(t.events, func(a, b Event) int { return cmp.Compare(a.Begin, b.Begin) })
	t.spans = spans(t.events)
	for i := range t.events {
		t.count(&t.events[i])
	}
	for _, s := range t.sessions() {
		alive, dead := s.verdicts()
		t.accepts(s, alive)
		t.refusals(s, dead)
		t.finality(s, alive, dead)
		t.agreement(s, alive, dead)
		t.inRow(s)
		if s.lost(alive, dead) {
			t.Lost++
		}
	}
	t.limits()
	t.counts()
	slices.SortStableFunc(t.Faults, func(a, b Fault) int {
		return cmp.Compare(a.Events[len(a.Events)-1].Begin, b.Events[len(b.Events)-1].Begin)
	})
	return t.Verdict
}

func (t *trial) count(e *Event) {
	switch e.Op {
	case Audit, Note:
		return
	}
	t.Requests++
	switch {
	case e.Answer == None:
		t.Unanswered++
	case e.Answer == Undecided:
		t.Undecided++
	case e.Op == Ask && e.Answer == Yes:
		t.Accepts++
	case e.Op == Ask:
		t.Refusals++
	}
	if e.Status >= http.StatusInternalServerError && e.Status != http.StatusServiceUnavailable {
		t.Internal++
		t.Faults = append(t.Faults, Fault{Point: 2, Text: fmt.Sprintf("answered %d; what is undecided is 503", e.Status), Session: e.Session, Events: []*Event{e}})
	}
	if !e.Wait {
		t.Faults = append(t.Faults, Fault{Point: 2, Text: "503 without Retry-After", Session: e.Session, Events: []*Event{e}})
	}
}

// fault notes that a session shows a point broken, and reports whether it is the
// first time.
func (t *trial) fault(point int, s *session, text string, shown ...*Event) bool {
	key := [2]uint64{uint64(point), s.id}
	if t.found[key] {
		return false
	}
	t.found[key] = true
	t.Faults = append(t.Faults, Fault{Point: point, Text: text, Session: s.id, Events: t.relevant(s, shown)})
	return true
}

// relevant is the shortest part of the history in which a reader can see what
// was wrong with what is shown: that, the login, what may have ended it, the
// last accept before, the policies, and what was broken at the time.
func (t *trial) relevant(s *session, shown []*Event) []*Event {
	first, last := shown[0].Begin, shown[0].End
	for _, e := range shown {
		first, last = min(first, e.Begin), max(last, e.End)
	}
	part := append([]*Event{s.login}, shown...)
	for _, e := range s.ends {
		if e.Begin < last {
			part = append(part, e)
		}
	}
	var before *Event
	for _, e := range s.asks {
		if e.Answer == Yes && e.End <= first {
			before = e
		}
	}
	if before != nil {
		part = append(part, before)
	}
	for _, p := range t.spans {
		if p.since < last && p.until > s.login.Begin-t.Bound {
			part = append(part, p.event)
		}
	}
	for i := range t.events {
		if e := &t.events[i]; e.Op == Note && e.Begin < last && e.End+2*t.Bound > first {
			part = append(part, e)
		}
	}
	slices.SortStableFunc(part, func(a, b *Event) int { return cmp.Compare(a.Begin, b.Begin) })
	return slices.Compact(part)
}
