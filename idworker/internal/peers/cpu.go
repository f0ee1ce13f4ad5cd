//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used of all processors, in user and system
// mode, or 0 if the system does not report it.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
