package memstore

import (
	"time"
	"unsafe"

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
