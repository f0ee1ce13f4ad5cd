//go:build unix

package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// NodeModules returns a folder node_modules with what the package-lock.json in
// dir names, exactly, and the program that runs it. It is kept outside the
// repository, in the folder that FLAKEPASS_TEST_CACHE names
// ($HOME/.cache/flakepass-test otherwise), one for each lock file.
//
// Only a test run that requires its servers installs it; any other takes it if
// it is there, and is skipped if not.
func NodeModules(t testing.TB, dir string) (modules, node string) {
	t.Helper()
	node = Program(t, "node")
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	cache := os.Getenv("FLAKEPASS_TEST_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatalf("testenv: no place for npm packages: %v", err)
		}
		cache = filepath.Join(home, ".cache", "flakepass-test")
	}
	sum := sha256.Sum256(lock)
	root := filepath.Join(cache, "node-"+hex.EncodeToString(sum[:8]))
	modules = filepath.Join(root, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, node
	}
	if os.Getenv("FLAKEPASS_TEST_REQUIRE_SERVERS") == "" {
		Absent(t, "the packages of "+filepath.Join(dir, "package-lock.json"))
	}
	if err := npmInstall(t, Program(t, "npm"), dir, cache, root); err != nil {
		t.Fatalf("testenv: install npm packages: %v", err)
	}
	return modules, node
}

// npmInstall installs into a folder of its own and renames it to root, so that a
// folder of that name is always whole.
func npmInstall(t testing.TB, npm, dir, cache, root string) error {
	t.Helper()
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(cache, "npm")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(scratch, name), text, 0o600); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// The lock file has the checksums. No package runs anything while it is installed.
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--engine-strict", "--no-audit", "--no-fund", "--prefer-offline",
		"--cache", filepath.Join(cache, "npm"))
	cmd.Dir = scratch
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(err.Error() + "\n" + string(out))
	}
	err = os.Rename(scratch, root)
	if _, there := os.Stat(root); there == nil {
		return nil // by us, or by another test run
	}
	return err
}
