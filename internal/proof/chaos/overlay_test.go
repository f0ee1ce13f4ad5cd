//go:build unix

package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An edit is one change of the program's source that only a test's build has.
type edit struct {
	file     string // from the root of the module, or of Go's own source if it begins with "$GOROOT"
	old, new string // old stands there exactly once; empty: new is a file of its own
}

// buildWith builds the program with those changes.
func buildWith(t testing.TB, edits ...edit) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for n, e := range edits {
		path := filepath.Join(root, e.file)
		if rest, ok := strings.CutPrefix(e.file, "$GOROOT"); ok {
			out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
			if err != nil {
				t.Fatal(err)
			}
			path = strings.TrimSpace(string(out)) + rest
		}
		text := e.new
		if e.old != "" {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(source), e.old) != 1 {
				t.Fatalf("%s does not have exactly once: %s\nThe code has moved on; this edit has to follow.", path, e.old)
			}
			text = strings.Replace(string(source), e.old, e.new, 1)
		}
		replace[path] = filepath.Join(dir, string(rune('a'+n))+".go")
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return build(t, overlay)
}

// settable makes the clock on the wall of the program go an hour forward on
// SIGUSR1 and an hour back on SIGUSR2, while the one that only runs forward goes
// on: what happens when somebody sets a machine's clock. Preloaded libraries and
// time namespaces do not reach it: Go asks the kernel itself, and there is no
// namespace for this clock.
var settable = []edit{
	{
		file: "$GOROOT/src/time/time.go",
		old:  "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n",
		new:  "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec += Stepped.Load()\n",
	},
	{
		file: "$GOROOT/src/time/stepped.go",
		new:  "package time\n\nimport \"sync/atomic\"\n\nvar Stepped atomic.Int64\n",
	},
	{
		file: "cmd/flakepass/stepped.go",
		new: `package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

func init() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range signals {
			step := int64(3600)
			if s == syscall.SIGUSR2 {
				step = -step
			}
			time.Stepped.Add(step)
			os.Stderr.WriteString("clock stepped: " + time.Now().UTC().String() + "\n")
		}
	}()
}
`,
	},
}
