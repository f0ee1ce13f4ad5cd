//go:build unix

package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

// TestWhatRootMakesBelongsToTheServersUser: the data folder of a server that runs as a user
// of its own, and a first command that is root's.
func TestWhatRootMakesBelongsToTheServersUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files for others")
	}
	const user = 65534
	home := t.TempDir()
	if err := os.Chown(home, user, user); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "data", "here")
	path := filepath.Join(dir, "flakepass.db")
	cfg := config.Config{DataDir: dir, Database: config.Database{Kind: config.SQLite, Path: path}}
	if made, err := MakeDatabase(cfg); err != nil || !made {
		t.Fatal(made, err)
	}
	key := filepath.Join(dir, KeyName)
	if _, err := keyFile(key, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{filepath.Dir(dir), dir, path, key} {
		info, err := os.Stat(made)
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != user || s.Gid != user || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s belongs to %d:%d, %v", made, s.Uid, s.Gid, info.Mode())
		}
	}
	roots := filepath.Join(t.TempDir(), "roots")
	if err := os.WriteFile(roots, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Database.Path = filepath.Join(dir, "link.db")
	if err := os.Symlink(roots, cfg.Database.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeDatabase(cfg); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(roots)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("a file that was there has got another owner: %v", err)
	}
	nowhere := filepath.Join(filepath.Dir(roots), "nologin")
	cfg.Database.Path = filepath.Join(dir, "dangling.db")
	if err := os.Symlink(nowhere, cfg.Database.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeDatabase(cfg); err == nil || !strings.Contains(err.Error(), "remove the link") {
		t.Errorf("a link to a file that is missing: %v", err)
	}
	if _, err := os.Lstat(nowhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("root made a file where the server's user has put a link to: %v", err)
	}
}
