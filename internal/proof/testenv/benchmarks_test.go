package testenv_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

var (
	benchmarkFunc = regexp.MustCompile(`(?m)^func Benchmark[A-Z]\w*\(\w+ \*testing\.B\)`)
	runsThem      = regexp.MustCompile(`(?m)^func TestBenchmarksRun\(t \*testing\.T\) \{ (t\.Parallel\(\); )?testenv\.Benchmarks\(t\) \}$|^func TestBenchmarksRun\(t \*testing\.T\) \{$`)
)

// TestEveryBenchmarkIsRunByATest: of each package of this module.
func TestEveryBenchmarkIsRunByATest(t *testing.T) {
	has, runs := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if testenv.OtherModule("../../..", path) || entry.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		has[dir] = has[dir] || benchmarkFunc.Match(text)
		runs[dir] = runs[dir] || runsThem.Match(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !has["../../../internal/proof/bench"] {
		t.Error("no benchmark was found in internal/proof/bench")
	}
	for dir, there := range has {
		if there && !runs[dir] {
			t.Errorf("%s has benchmarks and no test that runs them. Add to the file of one:\nfunc TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }",
				strings.TrimPrefix(dir, "../../../"))
		}
	}
}
