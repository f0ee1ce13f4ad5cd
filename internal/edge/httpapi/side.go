package httpapi

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// side does n things, a few of them side by side. A panic of one of them becomes one of the caller:
// in a goroutine of its own nobody catches it, and it would end the process.
func side(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	var fault atomic.Pointer[string]
	for range min(n, abreast) {
		all.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					fault.Store(new(fmt.Sprintf("%v\n%s", r, debug.Stack())))
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
	if text := fault.Load(); text != nil {
		panic(*text)
	}
}
