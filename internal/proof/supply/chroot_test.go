//go:build linux

package supply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestProgramNeedsOnlyItsDataFolder runs the program as the image does: in a
// root folder that has nothing but it, of which it may write one folder, as a
// user that no list knows. A person registers, and the health check and other
// commands work.
func TestProgramNeedsOnlyItsDataFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can change the root folder")
	}
	img := dockerfile(t)
	cage := cage(t, program(t))
	port, ops := testenv.FreePort(t), testenv.FreePort(t)
	env := []string{
		"PATH=" + img.env["PATH"], "SQLITE_TMPDIR=/data", "FLAKEPASS_DATA_DIR=/data",
		fmt.Sprintf("FLAKEPASS_LISTEN=127.0.0.1:%d", port), fmt.Sprintf("FLAKEPASS_OPS_LISTEN=127.0.0.1:%d", ops),
	}
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/flakepass", args...)
		cmd.Dir, cmd.Env = img.workdir, env
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: cage, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	journal := &testenv.Journal{}
	server := inside("serve")
	server.Stdout, server.Stderr = journal, journal
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() { _ = server.Process.Kill() })
	testenv.Eventually(t, time.Minute, func() bool { return inside("ready").Run() == nil }, "the program is not ready")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/v1/register", port),
		strings.NewReader(`{"username":"alice","password":"violet tram sings at noon"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatalf("%v\n%s", err, journal)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("registration: %s\n%s", resp.Status, journal)
	}
	for _, args := range [][]string{{"user", "list"}, {"sweep"}, {"config"}, {"version"}} {
		if out, err := inside(args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, journal)
	}
	if got := outside(t, cage); !slices.Equal(got, []string{"data", "flakepass"}) {
		t.Errorf("the root folder has %v now", got)
	}
}

// cage is a root folder with the program in it, which may be run and not
// written, and an empty folder for its data.
func cage(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	// A folder of tests is shut to other users.
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	err := errors.Join(copyFile(program, filepath.Join(dir, "flakepass")), os.Chmod(filepath.Join(dir, "flakepass"), 0o555),
		os.Mkdir(data, 0o700), os.Chown(data, 65532, 65532))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// outside lists what is in the root folder, without what is in the data folder.
func outside(t *testing.T, cage string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(cage), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case name == "data":
			names = append(names, name)
			return fs.SkipDir
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
