package migrations_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rules of the package comment that its reader could break unnoticed.
func TestFilesKeepTheRules(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	list := func(folder string) []string {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	if diff := cmp.Diff(list("mysql"), list("sqlite")); diff != "" {
		t.Errorf("the folders differ: -mysql +sqlite\n%s", diff)
	}
	for _, file := range list("mysql") {
		for direction, half := range halves(t, read("mysql/"+file)) {
			if n := strings.Count(half, ";\n"); n != 1 {
				t.Errorf("mysql/%s: %d statements %s, want 1", file, n, direction)
			}
			if direction == "up" && strings.Contains(half, "IF NOT EXISTS") {
				t.Errorf("mysql/%s: does not fail when it is run again", file)
			}
		}
		for _, path := range []string{"mysql/" + file, "sqlite/" + file} {
			if strings.Contains(read(path), "NO TRANSACTION") {
				t.Errorf("%s: runs without a transaction", path)
			}
		}
	}
}

func halves(t *testing.T, text string) map[string]string {
	t.Helper()
	_, text, _ = strings.Cut(text, "-- +goose Up\n")
	up, down, ok := strings.Cut(text, "-- +goose Down\n")
	if !ok {
		t.Fatal("no Down")
	}
	return map[string]string{"up": up, "down": down}
}
