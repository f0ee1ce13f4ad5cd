package supply

import (
	"encoding/base64"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// seed puts what is not ours, as the build cache of this machine has it, into
// the empty folder of another build cache. A build with that one compiles every
// package of ours. What is not found is compiled as well, so a change of the
// cache's layout costs time and no truth.
func seed(t *testing.T, cache string) {
	t.Helper()
	list := mustRun(t, root(t), environment("CGO_ENABLED=0"), "go", "list", "-deps", "-export", "-tags", "nomsgpack", "-trimpath", "-buildvcs=false",
		"-f", `{{if not (and .Module .Module.Main)}}{{.BuildID}} {{.Export}}{{end}}`, "./cmd/flakepass")
	mine := strings.TrimSpace(mustRun(t, root(t), environment(), "go", "env", "GOCACHE"))
	seeded := 0
	for line := range strings.Lines(list) {
		id, output, ok := strings.Cut(strings.TrimSpace(line), " ")
		action, _, _ := strings.Cut(id, "/")
		// The first half of the action's hash names its entry.
		half, err := base64.RawURLEncoding.DecodeString(action)
		if !ok || err != nil || len(half) < 8 {
			continue
		}
		name := hex.EncodeToString(half)
		entries, err := filepath.Glob(filepath.Join(mine, name[:2], name+"*-a"))
		if err != nil || len(entries) != 1 {
			continue
		}
		for _, from := range []string{entries[0], output} {
			to := filepath.Join(cache, filepath.Base(filepath.Dir(from)), filepath.Base(from))
			if err := copyFile(from, to); err != nil {
				t.Fatal(err)
			}
		}
		seeded++
	}
	t.Logf("%d packages of others need not be compiled again", seeded)
}

var compiling = regexp.MustCompile(`/compile -o \S+ .*? -p (?:main|github\.com/flakepass/flakepass\S*) `)

// compiled is how many packages of ours a build says that it compiles.
func compiled(said string) int { return len(compiling.FindAllString(said, -1)) }

// ours is how many packages of ours are in the program.
func ours(t *testing.T) int {
	t.Helper()
	n := len(strings.Fields(mustRun(t, root(t), environment("CGO_ENABLED=0"), "go", "list", "-deps", "-tags", "nomsgpack",
		"-f", `{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}`, "./cmd/flakepass")))
	if n < 20 {
		t.Fatalf("%d packages of ours: that is not the whole program", n)
	}
	return n
}
