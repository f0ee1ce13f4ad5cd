//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package durable

import (
	"errors"
	"fmt"
	"os"
)

// lock cannot promise anything without flock, so it refuses: a lock that
// outlives its process, such as a file that merely exists, would lock out the
// next start.
func lock(*os.File) error {
	return fmt.Errorf("locking files on this system: %w", errors.ErrUnsupported)
}

func SyncDir(string) error { return nil }
