package lineartest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/lincheck"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A breakage takes one protection out of the program, as replacements of what its
// source says: old, new, ...
type breakage struct {
	name, file string
	replace    []string
}

var breakages = []breakage{
	{"memory that believes whatever has ended", "internal/store/memtier/memtier.go", []string{
		"if why, dead := t.graves.find(s.UserID, s.ID); dead {", "if why, dead := t.graves.find(s.UserID, s.ID); dead && false {",
		"return s, age < t.life && !horizon.IsZero() && session.Age(now, horizon) < t.bound", "return s, age < t.life",
	}},
	{"ends without a stamp", "internal/store/sqlstore/endings.go", []string{
		`token_floor_at = " + d.now + ", " +`, `token_floor_at = token_floor_at, " +`,
	}},
}

// TestBrokenServerIsFound: without a protection, the same people and the same
// check find out. Otherwise that they find nothing would say nothing.
func TestBrokenServerIsFound(t *testing.T) {
	t.Parallel()
	for i, b := range breakages {
		if i >= 1 && os.Getenv(linTime) == "" {
			break
		}
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			seed := seedOf(t)
			t.Logf("%s=%d", linSeed, seed)
			d := e2e.OnMySQLAlone(t)
			all := gather(t, d, b.build(t), 2, 6, nil)
			var v lincheck.Verdict
			all.run(seed, 0, func() {
				testenv.Eventually(t, e2e.Patience, func() bool {
					<-time.After(time.Second)
					v = lincheck.Check(all.rec.History(), e2e.Bound)
					return !v.Legal
				}, "the check sees what is wrong")
			})
			t.Log(v)
			if last := v.History[len(v.History)-1]; last.Kind != lincheck.Verify || last.Outcome != lincheck.Done {
				t.Errorf("what is wrong is not an accept: %v", last)
			}
		})
	}
}

// build makes the broken program.
func (b breakage) build(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(root, filepath.FromSlash(b.file))
	source, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for i := 0; i < len(b.replace); i += 2 {
		if strings.Count(text, b.replace[i]) != 1 {
			t.Fatalf("%s does not say %q, once; change the breakage with it", b.file, b.replace[i])
		}
		text = strings.Replace(text, b.replace[i], b.replace[i+1], 1)
	}
	dir := t.TempDir()
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	over, err := json.Marshal(map[string]map[string]string{"Replace": {whole: broken}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{broken: []byte(text), overlay: over} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "flakepass")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "nomsgpack", "-ldflags", "-s -w", "-overlay", overlay, "-o", path, "github.com/flakepass/flakepass/cmd/flakepass")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}
