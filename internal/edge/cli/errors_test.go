package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlainKnowsEveryPackage: no package of ours can begin an error with a name
// that a person then reads.
func TestPlainKnowsEveryPackage(t *testing.T) {
	t.Parallel()
	// These make no errors that a command shows, or are for tests only.
	others := []string{"main", "hidden", "invalid", "pause", "baseurl", "lend", "wire", "render", "flakepass", "api", "attack", "cheap", "server", "testenv", "faultproxy", "migrated", "bench", "chaos", "cluster", "dup", "e2e", "interop", "judge", "ledger", "lincheck", "measure", "model", "mutant", "publish", "remote",
		"peers", "proxies", "release", "scale", "simulation", "supply", "verb"}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := packageOf(path)
		if err == nil && !strings.HasSuffix(name, "test") && !slices.Contains(others, name) && !slices.Contains(packages, name) {
			t.Errorf("%s: package %s is missing from the list in errors.go", path, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func packageOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "package "); ok {
			return name, nil
		}
	}
	return "", errors.New(path + ": no package clause")
}

func TestPlain(t *testing.T) {
	t.Parallel()
	away := errors.New("the disk is away")
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("sqlstore: list users: %w", away), "list users: the disk is away"},
		{fmt.Errorf("worker number: %w", fmt.Errorf("idworker: open: fileworker: acquire: %w", away)), "worker number: open: acquire: the disk is away"},
		{fmt.Errorf("account: sqlstore: session: %w", away), "the disk is away"},
		{errors.Join(fmt.Errorf("migrations: up: %w", away), fmt.Errorf("migrations: %w", away)), "up: the disk is away\nthe disk is away"},
		// Not every word before a colon is a package's name.
		{errors.New("open /srv/session: x: no such file"), "open /srv/session: x: no such file"},
		{errors.New("myaccount: x"), "myaccount: x"},
		{fmt.Errorf("sqlstore: get: %w", context.DeadlineExceeded), "get: context deadline exceeded; no answer came in time, try again"},
	} {
		if got := plain(c.err); got != c.want {
			t.Errorf("%q: got %q, want %q", c.err, got, c.want)
		}
	}
}

// TestHelpIsAlsoACommand, of the program and of each command.
func TestHelpIsAlsoACommand(t *testing.T) {
	for args, want := range map[string]string{"help": "Usage: flakepass <command>", "help id next": "Usage: flakepass id next"} {
		var out, errs strings.Builder
		if code := Run(t.Context(), strings.Fields(args), nil, &out, &errs); code != 0 || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: exit code %d\n%s%s", args, code, &out, &errs)
		}
	}
}
