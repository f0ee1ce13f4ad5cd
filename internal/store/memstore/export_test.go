package memstore

import (
	"time"
	"unsafe"
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
