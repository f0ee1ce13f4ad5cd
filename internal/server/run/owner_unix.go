//go:build unix

package run

import (
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ownerOnTheWay is whom the first file, folder or link on the way to path belongs to that is
// not root's: that user decides what is behind it. There is none if all are root's, or
// this process is not. A way that cannot be walked leads nowhere: who opens the file says why.
func ownerOnTheWay(path string) (of owner, found bool) {
	if os.Geteuid() != 0 {
		return owner{}, false
	}
	if !strings.HasPrefix(path, "/") {
		here, err := os.Getwd()
		if err != nil {
			return owner{}, false
		}
		path = here + "/" + path // not Join: "link/.." is not where it begins
	}
	at, left := "/", strings.Split(path, "/")
	for links := 0; len(left) > 0; {
		name := left[0]
		left = left[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = at[:max(strings.LastIndexByte(at, '/'), 1)]
			continue
		}
		next := strings.TrimSuffix(at, "/") + "/" + name
		info, err := os.Lstat(next)
		if err != nil {
			return owner{}, false // if it is missing, root makes it, in a folder of root's
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && mapped(s.Uid) {
			return owner{uid: int(s.Uid), gid: int(s.Gid), of: next}, true
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > 40 { // as Linux has it
			return owner{}, false
		}
		to, err := os.Readlink(next)
		if err != nil {
			return owner{}, false
		}
		if strings.HasPrefix(to, "/") {
			at = "/"
		}
		left = slices.Concat(strings.Split(to, "/"), left)
	}
	return owner{}, false
}

// mapped reports whether the user namespace of this process has that user. In a container of
// an ordinary user, the folders of the machine belong to a number that stands for all others
// (user_namespaces(7)): root there is not the machine's, and nobody can go on as their owner.
func mapped(uid uint32) bool {
	ranges, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return true // no Linux
	}
	if fields := strings.Fields(string(ranges)); slices.Equal(fields, []string{"0", "0", "4294967295"}) {
		return true // no container of that kind
	}
	others, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	return err == nil && strings.TrimSpace(string(others)) != strconv.Itoa(int(uid))
}

// become gives up the rights of root, and takes those of the owner, with all groups that the
// machine has for that user. One whom it does not know gets the group of the file, but not root's.
func become(of owner) error {
	gid := of.gid
	if gid == 0 {
		gid = of.uid
	}
	groups := []int{gid}
	if u, err := user.LookupId(strconv.Itoa(of.uid)); err == nil {
		if its, err := strconv.Atoi(u.Gid); err == nil {
			gid, groups = its, []int{its}
		}
		ids, _ := u.GroupIds() // its own group is the one that matters
		for _, id := range ids {
			if also, err := strconv.Atoi(id); err == nil && !slices.Contains(groups, also) {
				groups = append(groups, also)
			}
		}
	}
	if err := syscall.Setgroups(groups); err != nil {
		return err
	}
	if err := syscall.Setgid(gid); err != nil {
		return err
	}
	return syscall.Setuid(of.uid) // of root's: the saved one, too
}

// ownSession makes a process one without a terminal.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
