package memtier

import "time"

// Graves is how many users the tier remembers an end of.
func (t *Tier) Graves() int {
	n := 0
	for i := range t.graves.shards {
		p := &t.graves.shards[i]
		p.mu.RLock()
		n += len(p.of)
		p.mu.RUnlock()
	}
	return n
}

// Keep is how long an end is remembered.
func (t *Tier) Keep() time.Duration { return t.graves.keep }
