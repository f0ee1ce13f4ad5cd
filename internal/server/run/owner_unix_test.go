//go:build unix

package run

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

// TestOwnerOnTheWay: root goes on as the first user on the way to a file who could lead it
// elsewhere, and stays root where all belongs to root.
func TestOwnerOnTheWay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root goes on as another user")
	}
	const eve, bob = 65533, 65534
	dir := t.TempDir()
	t.Chdir(dir)
	for _, d := range []struct {
		path string
		uid  int
	}{{"roots", 0}, {"roots/data", 0}, {"eves", eve}, {"eves/roots", 0}, {"bobs", bob}} {
		if err := os.Mkdir(d.path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(d.path, d.uid, d.uid); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []struct {
		to, at string
		uid    int
	}{
		{"../eves/roots", "roots/over", 0},
		{filepath.Join(dir, "bobs"), "roots/away", 0},
		{"data/../../roots", "roots/self", 0},
		{"/etc", "roots/hers", eve},
		{"loop", "roots/loop", 0},
	} {
		if err := os.Symlink(l.to, l.at); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(l.at, l.uid, l.uid); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{
		"roots/data/flakepass.db":           0,
		"roots/self/data/flakepass.db":      0,
		"roots/none/at/all":                 0,
		"roots/loop/x":                      0,
		"eves/flakepass.db":                 eve,
		"eves/roots/flakepass.db":           eve,
		"roots/over/flakepass.db":           eve, // the link is root's, and eve may put another folder where it leads
		"roots/away/flakepass.db":           bob,
		"roots/hers/passwd":                 eve,
		"roots/away/../roots/data":          bob,
		dir + "//roots/./data/../../bobs/x": bob,
	} {
		if of, found := ownerOnTheWay(path); found != (want != 0) || of.uid != want {
			t.Errorf("%s: %+v, %v; want %d", path, of, found, want)
		}
	}
}

// TestWhatIsNoDatabaseIsRefused: SQLite would write its first page into an empty file, or
// a device, before a command has looked at what it is.
func TestWhatIsNoDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, pipe := filepath.Join(dir, "empty.db"), filepath.Join(dir, "pipe.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{empty: "is empty", pipe: "not a regular file", "/dev/null": "not a regular file"} {
		cfg := config.Config{DataDir: dir, Database: config.Database{Kind: config.SQLite, Path: path}}
		if _, err := OpenExisting(t.Context(), cfg, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
		if _, err := MakeDatabase(cfg); path != empty && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s is made: %v; want %q", path, err, want)
		}
	}
	if info, err := os.Stat(empty); err != nil || info.Size() != 0 {
		t.Errorf("a command that changes nothing has written: %v, %v", info, err)
	}
	if _, err := readKey(pipe); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a key in a named pipe: %v", err)
	}
}
