package durable

import (
	"errors"
	"os"
	"syscall"
)

// datasync is f.Sync without the times of the file, which cost a journal write.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
