package audit

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

const (
	// TallyKept is how many kinds of sightings of one action an instance keeps
	// apart between two writes whatever else there is: so many about admins, and so
	// many about others. What has more kinds takes room of TallyShared.
	TallyKept = 50
	// TallyShared is room for kinds beyond these, of all actions together, for those
	// that come first. What finds none there is summed up: one event for each action,
	// reason and entry point.
	TallyShared = 500
	// sumParties is how many targets and actors a sum knows by name.
	sumParties = 40
)

// counts are sightings, counted by kind and, beyond a number of kinds, in sums.
// The zero counts is empty.
type counts struct {
	rooms  map[roomKey]*room
	shared int // how many kinds there are beyond TallyKept, in all rooms
}

type roomKey struct {
	action Action
	admin  bool
}

// A room has the sightings of one action. The reasons and entry points come from
// our own code, so there are few sums.
type room struct {
	kinds map[sightingKind]*sightings
	sums  map[sumKind]*sum
}

// sightingKind is what sightings of one action have in common.
type sightingKind struct {
	reason string
	target Target
	by     Actor // without the request
}

type sightings struct {
	Sighting
	first, last time.Time
}

type sumKind struct{ reason, via string }

// A sum is of sightings with different targets, actors or addresses.
type sum struct {
	request     string // the first
	first, last time.Time
	count       int64
	parties     map[party]int64 // the first so many
}

// A party is the target of a sighting or, where it has none, the actor.
type party struct {
	Target
	actor bool
}

func partyOf(s *Sighting) party {
	if s.Target == (Target{}) && s.By.ID != 0 {
		return party{AboutUser(s.By.ID, s.By.Name), true}
	}
	return party{Target: s.Target}
}

// add counts a sighting. first reports that it is the first of its kind, or the
// first of a party that a sum knows by name; summed that it is part of a sum.
func (c *counts) add(s Sighting, from, until time.Time) (first, summed bool) {
	r := c.room(roomKey{s.Action, s.Admin})
	k := sightingKind{s.Reason, s.Target, s.By}
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
	if len(r.kinds) >= TallyKept {
		if c.shared >= TallyShared {
			one := sum{request: s.By.RequestID, first: from, last: until, count: s.Times, parties: map[party]int64{partyOf(&s): s.Times}}
			return r.sum(sumKind{s.Reason, s.By.Via}).add(&one), true
		}
		c.shared++
	}
	r.kinds[k] = &sightings{s, from, until}
	return true, false
}

func (c *counts) room(k roomKey) *room {
	if c.rooms == nil {
		c.rooms = map[roomKey]*room{}
	}
	r := c.rooms[k]
	if r == nil {
		r = &room{map[sightingKind]*sightings{}, map[sumKind]*sum{}}
		c.rooms[k] = r
	}
	return r
}

func (r *room) sum(k sumKind) *sum {
	if r.sums[k] == nil {
		r.sums[k] = &sum{parties: map[party]int64{}}
	}
	return r.sums[k]
}

// add takes all of other into s, and reports whether s knows a party by it that
// it did not know before.
func (s *sum) add(other *sum) (fresh bool) {
	if s.count == 0 || other.first.Before(s.first) {
		s.first, s.request = other.first, other.request
	}
	if other.last.After(s.last) {
		s.last = other.last
	}
	s.count += other.count
	for p, n := range other.parties {
		_, known := s.parties[p]
		if !known && len(s.parties) >= sumParties {
			continue
		}
		s.parties[p] += n
		fresh = fresh || !known
	}
	return fresh
}

// merge takes all of other into c, and returns how many sightings were not part
// of a sum before and are now.
func (c *counts) merge(other *counts) (summed int64) {
	for k, r := range other.rooms {
		for _, s := range r.kinds {
			if _, sum := c.add(s.Sighting, s.first, s.last); sum {
				summed += s.Times
			}
		}
		for of, s := range r.sums {
			c.room(k).sum(of).add(s)
		}
	}
	return summed
}

// events are what is on record of c, without IDs.
func (c *counts) events() (all []Event) {
	for k, r := range c.rooms {
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
	Count int64 `json:"count"`
	First Time  `json:"first_at"`
	Last  Time  `json:"last_at"`
}

func countedOf(n int64, first, last time.Time) countedJSON {
	return countedJSON{n, Time{first}, Time{last}}
}

// sumJSON is the value of a sum. Others is how many sightings are of none of the
// targets and actors that are listed.
type sumJSON struct {
	countedJSON
	Targets []partyJSON `json:"targets,omitempty"`
	Actors  []partyJSON `json:"actors,omitempty"`
	Others  int64       `json:"others"`
}

type partyJSON struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// value lists as many parties as fit into an event, the most frequent first.
func (s *sum) value() json.RawMessage {
	v := sumJSON{countedJSON: countedOf(s.count, s.first, s.last), Others: s.count}
	all := make([]party, 0, len(s.parties))
	for p := range s.parties {
		if p.Target != (Target{}) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b party) int {
		return cmp.Or(cmp.Compare(s.parties[b], s.parties[a]), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind))
	})
	text, _ := json.Marshal(v)
	left := MaxValue - len(text) - len(`"targets":[],"actors":[],`)
	for _, p := range all {
		entry := partyJSON{p.Kind, p.ID.String(), p.Name, s.parties[p]}
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
