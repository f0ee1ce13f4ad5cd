package model

import (
	"fmt"
	"hash/maphash"
)

// A Result is what a search found.
type Result struct {
	States int
	Broken Promise
	Cut    bool // it was not searched to the end
	// Traces are the shortest orders of events that break each promise.
	Traces map[Promise][]string
}

type step struct {
	parent int32
	by     int8
	what   string
}

// Search walks through every order of events of a world under some rules. It
// stops at limit states, and, if first is set, at the first broken promise.
func Search(w World, r Rules, limit int, first bool) Result {
	m := &search{world: w, rules: r}
	start := m.start()
	m.normal(&start)
	seen := newVisited(start)
	queue, steps := []state{start}, []step{{parent: -1}}
	res := Result{Traces: map[Promise][]string{}}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		m.next(&s, func(what string, by int, n state, bad Promise) {
			m.normal(&n)
			if old := seen.visit(queue, &n); old && bad == 0 {
				return
			}
			queue, steps = append(queue, n), append(steps, step{int32(i), int8(by), what})
			bad |= m.broken(&n)
			for p := Promise(1); p <= bad; p <<= 1 {
				if bad&p != 0 && res.Broken&p == 0 {
					res.Broken |= p
					res.Traces[p] = trace(queue, steps, len(queue)-1)
				}
			}
		})
		if first && res.Broken != 0 || len(queue) >= limit {
			res.Cut = true
			break
		}
	}
	res.States = len(queue)
	return res
}

// visited finds a state among those in the queue. A map with states as its keys would hold
// each a second time, and reading it was half of the time of a search.
type visited struct {
	seed maphash.Seed
	at   map[uint64]int32 // the place in the queue, by hash; a taken hash is followed by the next number
}

func newVisited(start state) visited {
	v := visited{maphash.MakeSeed(), map[uint64]int32{}}
	v.visit(nil, &start)
	return v
}

// visit reports whether the state is in the queue; if not, it is about to be appended.
func (v visited) visit(queue []state, s *state) bool {
	for h := maphash.Comparable(v.seed, *s); ; h++ {
		switch i, taken := v.at[h]; {
		case !taken:
			v.at[h] = int32(len(queue))
			return false
		case queue[i] == *s:
			return true
		}
	}
}

func trace(queue []state, steps []step, i int) (lines []string) {
	for ; i > 0; i = int(steps[i].parent) {
		who := ""
		if steps[i].by >= 0 {
			who = fmt.Sprintf("instance %d: ", steps[i].by)
		}
		lines = append([]string{fmt.Sprintf("at %d: %s%s", queue[steps[i].parent].now, who, steps[i].what)}, lines...)
	}
	return lines
}
