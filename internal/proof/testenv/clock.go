//go:build unix

package testenv

import (
	"fmt"
	"time"
)

// SettableClock makes the wall clock of the program go that far forward, in seconds, on SIGUSR1
// and back on SIGUSR2, while the monotonic clock goes on: what happens when the clock
// of a machine is set. A preloaded library does not reach it, because Go asks the
// kernel itself; nor does a time namespace, because none has this clock.
func SettableClock(step time.Duration) []Edit {
	return []Edit{
		{
			File: "$GOROOT/src/time/time.go",
			Old:  "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n",
			New:  "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec += Stepped.Load()\n",
		},
		{
			File: "$GOROOT/src/time/stepped.go",
			New:  "package time\n\nimport \"sync/atomic\"\n\nvar Stepped atomic.Int64\n",
		},
		{
			File: "cmd/flakepass/stepped.go",
			New: fmt.Sprintf(`package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

func init() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range signals {
			step := int64(%d)
			if s == syscall.SIGUSR2 {
				step = -step
			}
			time.Stepped.Add(step)
			os.Stderr.WriteString("clock stepped: " + time.Now().UTC().String() + "\n")
		}
	}()
}
`, int64(step/time.Second)),
		},
	}
}
