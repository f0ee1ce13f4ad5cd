package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The key that is made with SQLite: one, whole, and for its owner's eyes; and no
// other in its place once it has closed something.
func TestTheKeyFileIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "second-factor.key")
	yes := func() error { return nil }
	var all sync.WaitGroup
	keys := make([][]byte, 16)
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = keyFile(path, yes); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		if len(k) != 32 || !bytes.Equal(k, keys[0]) {
			t.Fatal("the keys differ")
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".second-factor-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := os.WriteFile(path, []byte("planted"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keyFile(path, yes); err == nil || strings.Contains(err.Error(), "planted") || !strings.Contains(err.Error(), "restore it") {
		t.Errorf("a damaged file: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	not := errors.New("there are second factors")
	if _, err := keyFile(path, func() error { return not }); !errors.Is(err, not) {
		t.Errorf("a new key though the old one is needed: %v", err)
	}
}
