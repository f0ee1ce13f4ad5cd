package run

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
	"github.com/flakepass/flakepass/internal/server/config"
)

// TestOneDatabaseFileLendsEachNumberOnce starts with several data directories, and names
// the file in several ways, before it is made and afterwards.
func TestOneDatabaseFileLendsEachNumberOnce(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "here", "flakepass.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"folder": filepath.Dir(path), "file.db": path} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(home)
	lent := map[int]string{}
	start := func(dataDir, database string) {
		t.Helper()
		cfg := config.Config{
			DataDir:  filepath.Join(home, dataDir),
			Database: config.Database{Kind: config.SQLite, Path: database},
			Worker:   config.Worker{Kind: config.WorkerFile},
		}
		w, closeLender, err := OpenWorker(t.Context(), cfg, nil, slog.New(slog.DiscardHandler), true, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close(t.Context()); closeLender() })
		if other := lent[w.Number()]; other != "" {
			t.Errorf("number %d is lent to %s of %s, and to %s", w.Number(), database, dataDir, other)
		}
		lent[w.Number()] = database + " of " + dataDir
	}
	start("a", path)
	start("b", filepath.Join("here", "flakepass.db"))
	start("here", path)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start("c", path)
	start("d", filepath.Join("folder", "flakepass.db"))
	start("e", "file.db")
	if _, err := os.Stat(filepath.Join(home, "here", "worker")); err != nil {
		t.Error("the default database has its numbers in another folder than before:", err)
	}
}

// TestWhatTheDataDirectoryLentIsNotLentAgain: earlier versions kept the numbers there.
func TestWhatTheDataDirectoryLentIsNotLentAgain(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Config{
		DataDir:  filepath.Join(dir, "data"),
		Database: config.Database{Kind: config.SQLite, Path: filepath.Join(dir, "flakepass.db")},
		Worker:   config.Worker{Kind: config.WorkerFile},
	}
	earlier := &fileworker.Lender{Dir: filepath.Join(cfg.DataDir, "worker")}
	defer earlier.Close()
	g, err := earlier.Acquire(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	open := func() *idworker.Worker {
		w, closeLender, err := OpenWorker(t.Context(), cfg, nil, slog.New(slog.DiscardHandler), true, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close(t.Context()); closeLender() })
		return w
	}
	w := open()
	if w.Number() == g.Number {
		t.Errorf("number %d is in use by an instance of an earlier version", g.Number)
	}
	if err := earlier.Close(); err != nil {
		t.Fatal(err)
	}
	if next := open(); next.Number() == g.Number {
		t.Errorf("number %d is lent until %v already", g.Number, g.Until)
	}
	if g, err = earlier.Acquire(t.Context(), time.Second); err != nil || g.Number == w.Number() {
		t.Errorf("an instance of an earlier version got number %d, %v, which one of this has", g.Number, err)
	}
}
