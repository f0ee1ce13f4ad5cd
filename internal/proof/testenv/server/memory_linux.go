package server

import (
	"os"
	"syscall"
)

// The room that servers need with all tests on them, and that the files of the
// tests need besides: servers of their own, SQLite, and profiles of browsers.
const (
	RoomForServers = 2 << 30
	RoomForTests   = 6 << 30
)

// Memory is a folder that lies in memory, has this much room and lets programs in
// it run, or "" if there is none: in many containers /dev/shm is tiny, or runs none.
// FLAKEPASS_TEST_MEMORY names another.
func Memory(room uint64) string {
	dir := os.Getenv("FLAKEPASS_TEST_MEMORY")
	if dir == "" {
		dir = "/dev/shm"
	}
	const noexec = 8 // ST_NOEXEC of statfs(2)
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Bavail*uint64(s.Bsize) < room || s.Flags&noexec != 0 {
		return ""
	}
	return dir
}
