package fileworker_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/idworker/fileworker"
)

// A server runs as a user of its own, and an operator types commands as root.
const serversUser = 65534

// TestWhatRootMakesBelongsToTheOwnerOfTheFolder: otherwise one command of root's would
// lock the server out of its own numbers.
func TestWhatRootMakesBelongsToTheOwnerOfTheFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files for others")
	}
	home := t.TempDir()
	if err := os.Chown(home, serversUser, serversUser); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "data", "worker")
	l := &fileworker.Lender{Dir: dir}
	t.Cleanup(func() { _ = l.Close() })
	if n := acquire(t, l).Number; n != 0 {
		t.Fatalf("number %d", n)
	}
	for _, path := range []string{filepath.Dir(dir), dir, filepath.Join(dir, "worker-0000")} {
		if uid, gid := owner(t, path); uid != serversUser || gid != serversUser {
			t.Errorf("%s belongs to %d:%d", path, uid, gid)
		}
	}

	// Who owns the folder must not get a file of root's, or change one, by giving it the name of a number.
	const line = "root:x:0:0:root:/root:/bin/bash\n"
	roots := filepath.Join(t.TempDir(), "roots")
	if err := os.WriteFile(roots, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "worker-0001")
	if err := os.Symlink(roots, link); err != nil {
		t.Fatal(err)
	}
	if g, err := l.Acquire(t.Context(), 0); err == nil {
		t.Errorf("number %d through a link out of the folder", g.Number)
	}
	if uid, _ := owner(t, roots); uid != 0 {
		t.Errorf("a file that was there has got another owner: %d", uid)
	}
	if b, err := os.ReadFile(roots); err != nil || string(b) != line {
		t.Errorf("a file that was there has changed: %.40q, %v", b, err)
	}
	absent := filepath.Join(filepath.Dir(roots), "absent")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(absent, link); err != nil {
		t.Fatal(err)
	}
	if g, err := l.Acquire(t.Context(), 0); err == nil {
		t.Errorf("number %d through a link to a file that is missing", g.Number)
	}
	if _, err := os.Lstat(absent); err == nil {
		t.Error("a link of the folder's owner has made a file elsewhere")
	}
}

func owner(t *testing.T, path string) (uid, gid int) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s := info.Sys().(*syscall.Stat_t)
	return int(s.Uid), int(s.Gid)
}

// TestAFileThatMayNotBeOpenedSaysWhatToDo is about what earlier versions have made as root.
func TestAFileThatMayNotBeOpenedSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "worker-0000"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // open files as another user does
		runtime.LockOSThread()
		t.Cleanup(func() {
			_ = syscall.Setfsuid(0)
			runtime.UnlockOSThread()
		})
		if err := syscall.Setfsuid(serversUser); err != nil {
			t.Fatal(err)
		}
	}
	l := &fileworker.Lender{Dir: dir}
	t.Cleanup(func() { _ = l.Close() })
	_, err := l.Acquire(t.Context(), 0)
	if err == nil || !strings.Contains(err.Error(), "permission denied") || !strings.Contains(err.Error(), "chown -R") || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v; want what to do", err)
	}
}
