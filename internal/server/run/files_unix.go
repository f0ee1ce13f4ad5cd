//go:build unix

package run

import "syscall"

// openFiles is how many files this process may have open. Go has raised that as far as it may.
func openFiles() (most uint64, known bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err == nil // signed on some systems
}
