package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// floors are what a generator is made of. They show what the machine can do,
// and how much of each figure is the measuring.
func floors() []generator {
	return []generator{
		{name: "empty call", open: func() (source, error) {
			return shared(func([]id) error { return nil }, nil), nil
		}},
		{name: "atomic add", open: func() (source, error) {
			var n atomic.Uint64
			return shared(func(out []id) error {
				v := n.Add(1)
				if len(out) > 0 {
					out[0] = narrow(v)
				}
				return nil
			}, nil), nil
		}},
		{name: "mutex and add", open: func() (source, error) {
			var (
				mu sync.Mutex
				n  uint64
			)
			return shared(func(out []id) error {
				mu.Lock()
				n++
				v := n
				mu.Unlock()
				if len(out) > 0 {
					out[0] = narrow(v)
				}
				return nil
			}, nil), nil
		}},
		{name: "time.Now", open: func() (source, error) {
			return shared(func(out []id) error {
				t := time.Now()
				if len(out) > 0 {
					out[0] = narrow(t.UnixMilli())
				}
				return nil
			}, func(i id) int64 { return int64(i.low) }), nil
		}},
	}
}
