//go:build unix

package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Axe returns the source of axe-core, a checker of accessibility that runs in a
// page. internal/proof/testenv/install.sh fetches it from npm into the cache of the
// tests. A test that lacks it is skipped, or fails if servers are required.
func Axe(t testing.TB) string {
	t.Helper()
	cache := os.Getenv("FLAKEPASS_TEST_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatalf("testenv: %v", err)
		}
		cache = filepath.Join(home, ".cache", "flakepass-test")
	}
	source, err := os.ReadFile(filepath.Join(cache, "axe", "package", "axe.min.js"))
	if err != nil {
		Absent(t, "axe-core")
	}
	return string(source)
}
