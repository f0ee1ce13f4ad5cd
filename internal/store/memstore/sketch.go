package memstore

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

const rows = ratelimit.SketchRows

// A sketch keeps the buckets of one kind and period in a fixed number of cells: a
// count-min sketch whose cells are not counts but token buckets. A bucket counts in one
// cell of each row, together with others, and is as full as the fullest of its
// cells. So it is found less full than it is where others share all of its cells,
// and never fuller; nothing is evicted.
type sketch struct {
	per  time.Duration
	seed maphash.Seed // strangers do not know which buckets share cells

	begun time.Time

	mu    sync.Mutex
	last  time.Time
	cells [rows][]int64 // when all attempts are there again: see since
}

func newSketch(per time.Duration, width int, now time.Time) *sketch {
	s := &sketch{per: per, seed: maphash.MakeSeed(), begun: now, last: now}
	for i := range s.cells {
		s.cells[i] = make([]int64, width)
	}
	return s
}

// of returns the cells of a key. Widths are powers of two, of at most 16 bits.
func (s *sketch) of(key string) (cells [rows]*int64) {
	h := maphash.String(s.seed, key)
	for i := range cells {
		cells[i] = &s.cells[i][int(h>>(16*i)&0xffff)&(len(s.cells[i])-1)]
	}
	return cells
}

// since is a time as cells have it: nanoseconds of the monotonic clock since the sketch was made. By a wall clock that
// is set back, whoever had made an attempt before would wait for that much longer.
func (s *sketch) since(now time.Time) int64 { return int64(now.Sub(s.begun)) }

// used is how much is used of a bucket with those cells.
func used(cells [rows]*int64, now int64) int64 {
	least := max(0, *cells[0]-now)
	for _, c := range cells[1:] {
		least = min(least, max(0, *c-now))
	}
	return least
}

func add(cells [rows]*int64, now, n int64) {
	for _, c := range cells {
		*c = max(*c, now) + n
	}
}

func sub(cells [rows]*int64, now, n int64) {
	for _, c := range cells {
		*c = max(now, *c-n)
	}
}

func (s *sketch) take(b *ratelimit.Bucket, now time.Time) ratelimit.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
	r := b.Rule
	cells, at := s.of(b.Key), s.since(now)
	before := used(cells, at)
	after := before + int64(b.Cost())
	if wait := after - int64(r.Per); wait > int64(r.Interval())/100 { // what cannot be told from rounding is allowed
		return ratelimit.Verdict{Retry: time.Duration(wait), Reset: time.Duration(min(before, int64(r.Per)))}
	}
	add(cells, at, int64(b.Cost()))
	return ratelimit.Verdict{
		Allowed: true, Remaining: b.Left(time.Duration(after)), Reset: time.Duration(after),
		Near: ratelimit.Receipt{At: now, Used: time.Duration(before)},
	}
}

// giveBack takes back what a Take has taken.
func (s *sketch) giveBack(b *ratelimit.Bucket, was ratelimit.Receipt, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub(s.of(b.Key), s.since(now), int64(was.Unused(b.Cost(), now)))
}

// forget takes back all that is used of a bucket.
func (s *sketch) forget(key string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cells, at := s.of(key), s.since(now)
	sub(cells, at, used(cells, at))
}

// share is what is used of a bucket, at most all of it.
func (s *sketch) share(key string, now time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(1, float64(used(s.of(key), s.since(now)))/float64(s.per))
}

// use uses at least that share of a bucket.
func (s *sketch) use(key string, share float64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
	cells, at := s.of(key), s.since(now)
	if n := int64(share*float64(s.per)) - used(cells, at); n > 0 {
		add(cells, at, n)
	}
}
