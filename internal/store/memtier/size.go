package memtier

// Size is about how many sessions are remembered now. It waits for nobody, and
// may count some that make room at this moment.
func (t *Tier) Size() int { return t.cache.EstimatedSize() }
