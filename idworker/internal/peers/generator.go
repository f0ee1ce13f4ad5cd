package main

import "encoding/binary"

// An id is one of up to 128 bits, so that all can be compared.
type id struct{ high, low uint64 }

func narrow[T ~int64 | ~uint64](n T) id { return id{low: uint64(n)} }

func wide(b [16]byte) id {
	return id{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// A generator is one way to mint IDs, or a floor: what no generator can beat.
type generator struct {
	name string
	per  int // IDs in a call; 0 means 1

	// slow ones are looked at after each call, others after every 17th: a prime,
	// or a sequence of 2^n would have the same calls looked at again and again.
	slow bool

	open func() (source, error)
}

func (g generator) perCall() int { return max(1, g.per) }

func (g generator) stride() int {
	if g.slow {
		return 1
	}
	return 17
}

// A source is an open generator.
type source struct {
	// caller makes what one goroutine calls.
	caller func() call

	// milli is the time in an ID, in Unix milliseconds; nil if it has none.
	milli func(id) int64

	close func() error
}

// A call mints once and copies the last IDs into out, as many as fit. Every
// generator is called in this way, so each pays the same for it.
type call func(out []id) error

// shared is a source all of whose callers call the same function.
func shared(c call, milli func(id) int64) source {
	return source{func() call { return c }, milli, func() error { return nil }}
}

// single is a call that mints one ID and never fails.
func single[T any](next func() T, as func(T) id) call {
	return func(out []id) error {
		n := next()
		if len(out) > 0 {
			out[0] = as(n)
		}
		return nil
	}
}
