package memtier

import "time"

// Stop ends the goroutine in which the cache looks for what has expired: a
// bubble of synctest waits for it.
func (t *Tier) Stop() { t.cache.StopAllGoroutines() }

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
