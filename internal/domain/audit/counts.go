package audit

import (
	"cmp"
	"encoding/json"
	"github.com/flakepass/flakepass/api/wire"
	"slices"
	"time"
)

const (
	// MostKinds is how many kinds of incidents of one action an instance keeps
	// apart between two writes whatever else there is: so many about admins, and so
	// many about others. Further kinds count against MostShared.
	MostKinds = 50
	// MostShared is how many kinds beyond these are kept, of all actions together: those
	// that come first. What comes after them is summed up: one event for each action,
	// reason and entry point.
	MostShared = 500
	// sumSubjects is how many targets and actors a sum knows by name.
	sumSubjects = 40
)

// counts are incidents, counted by kind and, beyond a number of kinds, in sums.
// The zero counts is empty.
type counts struct {
	actions map[actionKey]*actionCounts
	shared  int // how many kinds there are beyond MostKinds, in all actions
}

type actionKey struct {
	action Action
	admin  bool
}

// actionCounts has the incidents of one action. The reasons and entry points come from
// our own code, so there are few sums.
type actionCounts struct {
	kinds map[incidentKind]*incidents
	sums  map[sumKind]*sum
}

// incidentKind is what incidents of one action have in common.
type incidentKind struct {
	reason string
	target Target
	by     Actor // without the request
}

type incidents struct {
	Incident
	first, last time.Time
}

type sumKind struct{ reason, via string }

// A sum is of incidents with different targets, actors or addresses.
type sum struct {
	request     string // the first
	first, last time.Time
	count       int64
	subjects    map[subject]int64 // the first so many
}

// A subject is the target of an incident or, where it has none, the actor.
type subject struct {
	Target
	actor bool
}

func subjectOf(s *Incident) subject {
	if s.Target == (Target{}) && s.By.ID != 0 {
		return subject{AboutUser(s.By.ID, s.By.Name), true}
	}
	return subject{Target: s.Target}
}

// add counts an incident. first reports that it is the first of its kind, or the
// first of a subject that a sum knows by name; summed that it is part of a sum.
func (c *counts) add(s Incident, from, until time.Time) (first, summed bool) {
	r := c.action(actionKey{s.Action, s.Admin})
	k := incidentKind{s.Reason, s.Target, s.By}
	k.by.RequestID, k.by.Session = "", 0
	if known := r.kinds[k]; known != nil {
		known.Times += s.Times
		if from.Before(known.first) {
			known.first, known.By.RequestID = from, s.By.RequestID
		}
		if until.After(known.last) {
			known.last = until
		}
		return false, false
	}
	if len(r.kinds) >= MostKinds {
		if c.shared >= MostShared {
			one := sum{request: s.By.RequestID, first: from, last: until, count: s.Times, subjects: map[subject]int64{subjectOf(&s): s.Times}}
			return r.sum(sumKind{s.Reason, s.By.Via}).add(&one), true
		}
		c.shared++
	}
	r.kinds[k] = &incidents{s, from, until}
	return true, false
}

func (c *counts) action(k actionKey) *actionCounts {
	if c.actions == nil {
		c.actions = map[actionKey]*actionCounts{}
	}
	r := c.actions[k]
	if r == nil {
		r = &actionCounts{map[incidentKind]*incidents{}, map[sumKind]*sum{}}
		c.actions[k] = r
	}
	return r
}

func (r *actionCounts) sum(k sumKind) *sum {
	if r.sums[k] == nil {
		r.sums[k] = &sum{subjects: map[subject]int64{}}
	}
	return r.sums[k]
}

// add takes all of other into s, and reports whether s knows a subject by it that
// it did not know before.
func (s *sum) add(other *sum) (fresh bool) {
	if s.count == 0 || other.first.Before(s.first) {
		s.first, s.request = other.first, other.request
	}
	if other.last.After(s.last) {
		s.last = other.last
	}
	s.count += other.count
	for p, n := range other.subjects {
		_, known := s.subjects[p]
		if !known && len(s.subjects) >= sumSubjects {
			continue
		}
		s.subjects[p] += n
		fresh = fresh || !known
	}
	return fresh
}

// merge takes all of other into c, and returns how many incidents were not part
// of a sum before and are now.
func (c *counts) merge(other *counts) (summed int64) {
	for k, r := range other.actions {
		for _, s := range r.kinds {
			if _, sum := c.add(s.Incident, s.first, s.last); sum {
				summed += s.Times
			}
		}
		for of, s := range r.sums {
			c.action(k).sum(of).add(s)
		}
	}
	return summed
}

// since is when the first of them was, or earliest if that is before; of none it is earliest. The zero time is none.
func (c *counts) since(earliest time.Time) time.Time {
	earlier := func(at time.Time) {
		if earliest.IsZero() || at.Before(earliest) {
			earliest = at
		}
	}
	for _, r := range c.actions {
		for _, s := range r.kinds {
			earlier(s.first)
		}
		for _, s := range r.sums {
			earlier(s.first)
		}
	}
	return earliest
}

// events are what is on record of c, without IDs.
func (c *counts) events() (all []Event) {
	for k, r := range c.actions {
		for _, s := range r.kinds {
			// Two times and a number cannot fail to be JSON.
			value, _ := json.Marshal(countedOf(s.Times, s.first, s.last))
			all = append(all, Event{By: s.By, Action: k.action, Target: s.Target, Reason: s.Reason, New: value})
		}
		for of, s := range r.sums {
			all = append(all, Event{By: Actor{Via: of.via, RequestID: s.request}, Action: k.action, Reason: of.reason, New: s.value()})
		}
	}
	slices.SortFunc(all, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Action, b.Action), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Target.ID, b.Target.ID), cmp.Compare(a.By.Address, b.By.Address))
	})
	return all
}

// countedJSON is the value of an event that stands for several.
type countedJSON struct {
	Count int64     `json:"count"`
	First wire.Time `json:"first_at"`
	Last  wire.Time `json:"last_at"`
}

func countedOf(n int64, first, last time.Time) countedJSON {
	return countedJSON{n, wire.At(first), wire.At(last)}
}

// sumJSON is the value of a sum. Others is how many incidents are of none of the
// targets and actors that are listed.
type sumJSON struct {
	countedJSON
	Targets []subjectJSON `json:"targets,omitempty"`
	Actors  []subjectJSON `json:"actors,omitempty"`
	Others  int64         `json:"others"`
}

type subjectJSON struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"` // of what has no ID: a purge does not read sums
	Count int64  `json:"count"`
}

// value lists as many subjects as fit into an event, the most frequent first.
func (s *sum) value() json.RawMessage {
	v := sumJSON{countedJSON: countedOf(s.count, s.first, s.last), Others: s.count}
	all := make([]subject, 0, len(s.subjects))
	for p := range s.subjects {
		if p.Target != (Target{}) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b subject) int {
		return cmp.Or(cmp.Compare(s.subjects[b], s.subjects[a]), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind))
	})
	text, _ := json.Marshal(v)
	left := MaxValue - len(text) - len(`"targets":[],"actors":[],`)
	for _, p := range all {
		entry := subjectJSON{p.Kind, p.ID.String(), p.Name, s.subjects[p]}
		if p.ID != 0 {
			entry.Name = ""
		}
		text, _ := json.Marshal(entry)
		if left -= len(text) + len(","); left < 0 {
			break
		}
		if p.actor {
			v.Actors = append(v.Actors, entry)
		} else {
			v.Targets = append(v.Targets, entry)
		}
		v.Others -= entry.Count
	}
	text, _ = json.Marshal(v)
	return text
}
