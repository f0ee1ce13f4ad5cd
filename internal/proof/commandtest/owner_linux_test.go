package commandtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestRootGoesOnAsTheOwnerOfTheData: the server's user owns the data directory, and an operator
// types commands as root. What root makes, that user can open. And who has taken over that user,
// and puts a link or a pipe in the place of a file or folder, gets nothing done as root.
func TestRootGoesOnAsTheOwnerOfTheData(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root goes on as another user")
	}
	const user = 65534
	home, err := os.MkdirTemp("/tmp", "flakepass-owner-") //nolint:usetesting // that user cannot go through every TMPDIR
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	theirs, roots := filepath.Join(home, "theirs"), filepath.Join(home, "roots")
	for path, uid := range map[string]int{home: 0, theirs: user, roots: 0} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(theirs, "data")
	vars := e2e.AnyPort()
	vars["FLAKEPASS_DATA_DIR"] = data
	in := func(name string) string { return filepath.Join(data, name) }

	password := e2e.NewPassword()
	e2e.Must(t, vars, password+"\n", "user", "add", "alice", "--password-stdin")
	p := e2e.StartProcess(t, home, vars)
	e2e.NewClient(t, p.Public).Login("alice", password)
	hashing := p.Children(t)
	if len(hashing) != 1 {
		t.Errorf("processes of the server: %v; want the one that hashes", hashing)
	}
	for _, pid := range append(hashing, p.Cmd.Process.Pid) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		of := fmt.Sprintf("\t%d\t%[1]d\t%[1]d\t%[1]d\n", user)
		for _, want := range []string{"\nUid:" + of, "\nGid:" + of, fmt.Sprintf("\nGroups:\t%d \n", user), "\nCapPrm:\t0000000000000000\n", "\nCapEff:\t0000000000000000\n"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("process %d is not the owner's: no %q in\n%s", pid, want, status)
			}
		}
	}
	// Who is the same user could take a terminal of root's from the process that hashes.
	for _, pid := range hashing {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); fields[3] != strconv.Itoa(pid) {
			t.Errorf("the process that hashes is of the session %s, not of its own", fields[3])
		}
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/2", pid)); err != nil || !strings.HasPrefix(to, "pipe:") {
			t.Errorf("its errors go to %q, %v", to, err)
		}
	}
	p.Signal(t, syscall.SIGTERM)
	p.End(t)
	seen := 0
	if err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != user || s.Gid != user || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v, of %+v", path, info.Mode(), s)
		}
		return nil
	}); err != nil || seen < 5 { // two folders, the database, its key, a worker number
		t.Fatal(seen, err)
	}
	if record := e2e.Must(t, vars, "", "audit").Out; !strings.Contains(record, "root@") {
		t.Errorf("the record does not say who typed the command:\n%s", record)
	}

	const line = "root:x:0:0:root:/root:/bin/bash\n"
	passwd, empty := filepath.Join(roots, "passwd"), filepath.Join(roots, "empty")
	if err := os.WriteFile(passwd, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []struct{ name, to string }{
		{"worker", roots}, {"worker/worker-0000", passwd}, {"worker/worker-0000", filepath.Join(roots, "nologin")},
		{"flakepass.db", passwd}, {"flakepass.db", empty}, {"flakepass.db", filepath.Join(roots, "nologin")}, {"flakepass.db-wal", passwd},
	} {
		aside := filepath.Join(theirs, "aside")
		if err := os.Rename(in(link.name), aside); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.Symlink(link.to, in(link.name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(in(link.name), user, user); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"user", "disable", "alice"}, {"user", "list"}, {"user", "add", "bob", "--invite"}} {
			r := e2e.Command(t, vars, "", args...)
			if strings.HasPrefix(link.name, "flakepass.db") && r.Code == 0 {
				t.Errorf("%s to %s: flakepass %s: exit code 0\n%s", link.name, link.to, strings.Join(args, " "), r.Out)
			}
		}
		if entries, err := os.ReadDir(roots); err != nil || len(entries) != 2 {
			t.Errorf("%s to %s: root's folder has %v, %v", link.name, link.to, entries, err)
		}
		for path, want := range map[string]string{passwd: line, empty: ""} {
			if b, err := os.ReadFile(path); err != nil || string(b) != want {
				t.Errorf("%s to %s: %s has changed: %.40q, %v", link.name, link.to, path, b, err)
			}
		}
		if err := os.Remove(in(link.name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(aside, in(link.name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	e2e.Must(t, vars, "", "user", "disable", "alice") // and nothing is broken
}

// TestRootOfAContainerWithoutRoot: the folders above the data belong to a user whom the container
// does not have. Its root is the owner of the data, and goes on as it is.
func TestRootOfAContainerWithoutRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root makes a container of another user here")
	}
	const user = 65533
	home, err := os.MkdirTemp("/tmp", "flakepass-owner-") //nolint:usetesting // as above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.Chown(home, user, user); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "flakepass")
	// The user may not enter the folder that it is in. A file that this process writes could not be
	// started while another test starts a process, which gets what is open.
	if out, err := exec.CommandContext(t.Context(), "cp", e2e.Binary(t), path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), path, "migrate", "up")
	cmd.Dir, cmd.Env = home, []string{"FLAKEPASS_DATA_DIR=" + filepath.Join(home, "data")}
	ids := []syscall.SysProcIDMap{{HostID: user, Size: 1}, {ContainerID: 1, HostID: 100_000, Size: 65536}} // as rootless containers have it
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, Credential: &syscall.Credential{NoSetGroups: true}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("this machine has no user namespaces: ", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(filepath.Join(home, "data", "flakepass.db"))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != user {
		t.Errorf("the database is of %+v", s)
	}
}
