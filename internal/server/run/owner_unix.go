//go:build unix

package run

import (
	"io/fs"
	"syscall"
)

func ownerOf(info fs.FileInfo) (uid, gid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}
