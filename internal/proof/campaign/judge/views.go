package judge

import "fmt"

// inRow looks for point 3 in calm: a row that has a session whose end was acknowledged.
// What ends all sessions of all leaves the rows to the sweep.
func (t *trial) inRow(s *session) {
	for _, e := range s.lists {
		if e.Rows && e.Listed[s.id] && s.acked != nil && s.acked.Op != EndAll && s.acked.End < e.Begin {
			t.fault(3, s, fmt.Sprintf("in its row %v after its end was acknowledged", e.Begin-s.acked.End), s.acked, e)
		}
	}
}

// counts looks for point 4 in calm: nobody logs in then, so how many live, listed or
// counted, does not grow.
func (t *trial) counts() {
	for i := range t.events {
		w := &t.events[i]
		if w.Op != Audit {
			continue
		}
		var said []*Event
		for j := range t.events {
			e := &t.events[j]
			whole := e.Op == Count || e.Op == List && e.User == "" && !e.Rows
			if whole && e.Answer == Yes && e.Begin >= w.Begin && e.End <= w.End {
				said = append(said, e)
			}
		}
		t.compare(said)
	}
}

func (e *Event) living() int {
	if e.Op == Count {
		return e.Counted
	}
	return len(e.Listed)
}

func (t *trial) compare(said []*Event) {
	for _, a := range said {
		for _, b := range said {
			if a.End < b.Begin && a.living() < b.living() {
				t.Disagreements++
				t.Faults = append(t.Faults, Fault{Point: 4, Text: fmt.Sprintf("%d live, and later %d, though nobody has logged in", a.living(), b.living()), Events: []*Event{a, b}})
				return
			}
		}
	}
}
