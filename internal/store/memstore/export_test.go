package memstore

import (
	"time"
	"unsafe"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// EntrySize is what a cached session takes, beside its texts and the cache's own node.
const EntrySize = unsafe.Sizeof(entry{})

// Tombstones is how many users an end is remembered of.
func (t *Sessions) Tombstones() int {
	n := 0
	for i := range t.tombstones.shards {
		p := &t.tombstones.shards[i]
		p.mu.RLock()
		n += len(p.of)
		p.mu.RUnlock()
	}
	return n
}

// Keep is how long an end is remembered.
func (t *Sessions) Keep() time.Duration { return t.tombstones.keep }

// Remembered is what an entry of s gives back.
func Remembered(s session.Session) (back session.Session) {
	(&kinds{}).entry(s).session(s.ID, &back)
	return back
}

// TakeAt is Take at that time.
func (s *Buckets) TakeAt(b ratelimit.Bucket, now time.Time) ratelimit.Verdict { return s.take(b, now) }

// SetBack is t by a wall clock that was set back by that much: the monotonic clock goes on.
func SetBack(t time.Time, by time.Duration) time.Time {
	// Seconds are behind 30 bits of nanoseconds where t has a reading of the monotonic clock.
	(*struct{ wall uint64 })(unsafe.Pointer(&t)).wall -= uint64(by/time.Second) << 30
	return t
}
