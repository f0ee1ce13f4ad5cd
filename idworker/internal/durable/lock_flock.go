//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package durable

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the exclusive lock of an open file, or returns ErrBusy. Closing
// the file lets go of it.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrBusy
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	d, err := os.Open(path) //nolint:gosec // the caller names it
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
