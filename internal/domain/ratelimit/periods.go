package ratelimit

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// Periods are those of the rules that a store has counted by, for each kind of
// key. A store keeps a bucket for each period, in which a change of the count
// leaves the share that is used as it is; when the period changes it asks here
// which buckets the new one succeeds. The zero value knows of none.
type Periods struct {
	mu   sync.Mutex
	used map[string]map[time.Duration]time.Time // by kind and period: when last
}

// late is for how long after a change another instance may count by the rule of
// before.
const late = time.Minute

// Donors notes that b is counted by now, and returns the periods of the buckets
// whose share it takes over: those no longer in force that are nearest to its own.
// It is nil unless a rule has changed lately.
func (p *Periods) Donors(b Bucket, now time.Time) (donors []time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(Kind(b.Key), b.Rule.Per, now)
	used := p.used[Kind(b.Key)]
	for per, last := range used {
		switch {
		case per == b.Rule.Per || holds(b.Beside, per):
		case now.Sub(last) > per+late: // whatever was used has trickled in again
			delete(used, per)
		case heir(b, per) == b.Rule.Per:
			donors = append(donors, per)
		}
	}
	return donors
}

// Learn notes that attempts were counted by that period, maybe just now.
func (p *Periods) Learn(kind string, per time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(kind, per, now)
}

// Of returns the periods of all buckets that there may be of that key.
func (p *Periods) Of(key string) []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.used[Kind(key)]))
}

func (p *Periods) note(kind string, per time.Duration, now time.Time) {
	if p.used == nil {
		p.used = map[string]map[time.Duration]time.Time{}
	}
	if p.used[kind] == nil {
		p.used[kind] = map[time.Duration]time.Time{}
	}
	p.used[kind][per] = now
}

// Kind is what a key is a key of.
func Kind(key string) string {
	kind, _, _ := strings.Cut(key, ":")
	return kind
}

func holds(rules []limit.Rule, per time.Duration) bool {
	return slices.ContainsFunc(rules, func(r limit.Rule) bool { return !r.None() && r.Per == per })
}

// heir is the period in force that is nearest to one that is not: the shorter one
// of two.
func heir(b Bucket, per time.Duration) time.Duration {
	best, off := b.Rule.Per, distance(b.Rule.Per, per)
	for _, r := range b.Beside {
		if d := distance(r.Per, per); !r.None() && (d < off || d == off && r.Per < best) {
			best, off = r.Per, d
		}
	}
	return best
}

func distance(a, b time.Duration) float64 { return math.Abs(math.Log(float64(a) / float64(b))) }
