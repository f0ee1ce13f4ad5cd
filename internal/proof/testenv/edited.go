//go:build unix

package testenv

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An Edit is one change of the program's source that only a test's build has.
type Edit struct {
	File     string // below the module's root, or in Go's own source if it begins with "$GOROOT"
	Old, New string // the file has Old exactly once; if Old is empty, New is a file of its own
}

// Edited returns the text of each file that edits change. It ends the test if an
// edit does not apply to the code any more. root is the module's root.
func Edited(t testing.TB, root string, edits ...Edit) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.File)
		if rest, ok := strings.CutPrefix(e.File, "$GOROOT"); ok {
			out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
			if err != nil {
				t.Fatal(err)
			}
			path = strings.TrimSpace(string(out)) + rest
		}
		if e.Old == "" {
			texts[path] = e.New
			continue
		}
		text, ok := texts[path]
		if !ok {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = string(source)
		}
		if strings.Count(text, e.Old) != 1 || e.Old == e.New {
			t.Fatalf("%s does not have exactly once: %s\nThe code has changed: change the edit with it.", e.File, e.Old)
		}
		texts[path] = strings.Replace(text, e.Old, e.New, 1)
	}
	return texts
}

// EditedFlakepass builds the command with edits and returns its path. root is the
// module's root.
func EditedFlakepass(t testing.TB, root string, edits ...Edit) string {
	t.Helper()
	root, err := filepath.Abs(root) // the go command wants whole paths in an overlay
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	for path, text := range Edited(t, root, edits...) {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "flakepass")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o", program, "-overlay", overlay, "./cmd/flakepass")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}
