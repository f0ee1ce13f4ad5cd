package server

import (
	"os"
	"syscall"
)

// roomy is more than the servers come to need, with all tests on them.
const roomy = 2 << 30

// Memory is a folder that lies in memory and has room for the data of the
// servers, or "" if there is none: in many containers /dev/shm is tiny.
// FLAKEPASS_TEST_MEMORY names another.
func Memory() string {
	dir := os.Getenv("FLAKEPASS_TEST_MEMORY")
	if dir == "" {
		dir = "/dev/shm"
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Bavail*uint64(s.Bsize) < roomy {
		return ""
	}
	return dir
}
