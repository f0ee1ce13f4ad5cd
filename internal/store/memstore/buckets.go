package memstore

import (
	"context"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// Buckets keeps buckets in memory, in a fixed number of bytes for each rule: 2
// MiB for one of logins at a place, whose names strangers make up, and half a MiB
// for any other. With the default limits that is 8 MiB, of which the system gives
// only what is used. The zero Buckets is ready.
type Buckets struct {
	periods ratelimit.Periods

	mu       sync.Mutex
	sketches map[which]*sketch
}

// which are the buckets of one sketch.
type which struct {
	kind string
	per  time.Duration
}

var _ ratelimit.Store = (*Buckets)(nil)

// Take takes attempts out of a bucket.
func (s *Buckets) Take(_ context.Context, b ratelimit.Bucket) ratelimit.Verdict {
	if b.Rule.None() {
		return ratelimit.Verdict{Allowed: true}
	}
	return s.take(b, time.Now())
}

func (s *Buckets) take(b ratelimit.Bucket, now time.Time) ratelimit.Verdict {
	own := s.of(b.Key, b.Rule.Per, now)
	// The rule may have had other periods before. The largest share that is used of a bucket of
	// such a period counts as used here, too. Then nothing counts as used there any more, so that
	// nobody is charged twice.
	share := 0.0
	for _, per := range s.periods.Donors(b, now) {
		donor := s.of(b.Key, per, now)
		share = max(share, donor.share(b.Key, now))
		donor.forget(b.Key, now)
	}
	if share > 0 {
		own.use(b.Key, share, now)
	}
	return own.take(&b, now)
}

// of is the sketch of a key and a period. One whose attempts are all there again,
// for its rule is in force no longer, is dropped when another is made.
func (s *Buckets) of(key string, per time.Duration, now time.Time) *sketch {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := which{ratelimit.Kind(key), per}
	if found := s.sketches[k]; found != nil {
		return found
	}
	for other, old := range s.sketches {
		if old.idle(now) {
			delete(s.sketches, other)
		}
	}
	if s.sketches == nil {
		s.sketches = map[which]*sketch{}
	}
	made := newSketch(per, ratelimit.SketchWidth(k.kind), now)
	s.sketches[k] = made
	return made
}

// idle reports whether nothing was taken from the sketch for longer than its period. Then all
// attempts of all its buckets are available again.
func (s *sketch) idle(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.last) > s.per+time.Minute
}

// Return puts attempts back.
func (s *Buckets) Return(_ context.Context, b ratelimit.Bucket, v ratelimit.Verdict) {
	if !v.Near.At.IsZero() {
		now := time.Now()
		s.of(b.Key, b.Rule.Per, now).giveBack(&b, v.Near, now)
	}
}

// Forget fills all buckets of a key up.
func (s *Buckets) Forget(_ context.Context, key string) {
	now := time.Now()
	for _, per := range s.periods.Of(key) {
		s.of(key, per, now).forget(key, now)
	}
}
