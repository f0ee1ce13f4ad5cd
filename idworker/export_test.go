package idworker

// Repeatable returns o with another source of randomness, so that what a
// simulation does follows from its seed alone.
func (o Options) Repeatable(random func() uint64) Options {
	o.random = random
	return o
}
