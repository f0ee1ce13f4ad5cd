package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module with one target that any input with a question mark
// breaks, if that is wanted, and one that nothing does.
func module(t *testing.T, breaks bool) string {
	t.Helper()
	dir := t.TempDir()
	condition := "strings.HasPrefix(s, s+s+s) && s != \"\"" // never
	if breaks {
		condition = "strings.HasPrefix(s, \"?\")"
	}
	for name, text := range map[string]string{
		"go.mod":               "module example.org/m\n\ngo 1.26\n",
		"p/p.go":               "package p\n",
		"p/p_test.go":          "package p\n\nimport (\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc FuzzMark(f *testing.F) {\n\tf.Add(\"a\")\n\tf.Fuzz(func(t *testing.T, s string) {\n\t\tif " + condition + " {\n\t\t\tt.Fatal(s)\n\t\t}\n\t})\n}\n",
		"q/q_test.go":          "package q\n\nimport \"testing\"\n\nfunc FuzzNothing(f *testing.F) {\n\tf.Fuzz(func(t *testing.T, b []byte) { _ = len(b) })\n}\n",
		"nested/go.mod":        "module example.org/n\n",
		"nested/n_test.go":     "package n\n\nimport \"testing\"\n\nfunc FuzzElsewhere(f *testing.F) {}\n",
		"p/testdata/x_test.go": "package x\n\nfunc FuzzData(f *testing.F) {}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFailingInputIsNamedAndKept: the path that is printed is that of a file
// from which go test runs the input again, and the rest is fuzzed all the same.
func TestFailingInputIsNamedAndKept(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds test programs")
	}
	dir, corpus := module(t, true), t.TempDir()
	for range 2 { // the second time Go finds it among what it begins with
		var out bytes.Buffer
		err := command(t.Context(), []string{"-dir", dir, "-time", "60s", "-only", "Mark", "-corpus", corpus}, &out)
		if err == nil || !strings.Contains(err.Error(), "1 of 1 targets failed") {
			t.Fatalf("%v\n%s", err, out.String())
		}
		_, rest, _ := strings.Cut(out.String(), "p.FuzzMark FAILS with ")
		path, _, _ := strings.Cut(rest, "\n")
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "?") || filepath.Dir(path) != filepath.Join(dir, "p", "testdata", "fuzz", "FuzzMark") {
			t.Fatalf("%q: %v\n%s\n%s", path, err, text, out.String())
		}
	}
}

// TestEveryTargetRunsAndItsInputsAreKept: no target of the module is left out,
// and what was learnt is where the next run finds it.
func TestEveryTargetRunsAndItsInputsAreKept(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds test programs")
	}
	dir, corpus := module(t, false), t.TempDir()
	var out bytes.Buffer
	if err := command(t.Context(), []string{"-own", "-dir", dir, "-time", "3s", "-corpus", corpus}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"built 2 packages", "2 targets", "p.FuzzMark ", "q.FuzzNothing "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing of %q:\n%s", want, out.String())
		}
	}
	if kept, err := os.ReadDir(filepath.Join(corpus, "p", "FuzzMark")); err != nil || len(kept) == 0 {
		t.Errorf("%d inputs kept, %v", len(kept), err)
	}
}

func TestFindLeavesOutNestedModulesAndData(t *testing.T) {
	got, err := find(module(t, false))
	if err != nil || len(got) != 2 || got[0].String() != "p.FuzzMark" || got[1].String() != "q.FuzzNothing" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestTimeThatIsOverIsNoFailure, and all else is: what cannot be read is not
// taken for a good end.
func TestTimeThatIsOverIsNoFailure(t *testing.T) {
	const counts = "=== RUN   FuzzX\nfuzz: elapsed: 0s, gathering baseline coverage: 2/2 completed, now fuzzing with 1 workers\nfuzz: elapsed: 10s, execs: 13 (4/sec), new interesting: 2 (total: 12)\n"
	failed := errors.New("exit status 1")
	for said, tt := range map[string]struct {
		err  error
		fine bool
	}{
		counts + "PASS\n": {nil, true},
		counts + "--- FAIL: FuzzX (10.01s)\n    context deadline exceeded\nFAIL\n":                                      {failed, true},
		counts + "--- FAIL: FuzzX (10.01s)\n    fuzzing process hung or terminated\nFAIL\n":                             {failed, false},
		counts + "--- FAIL: FuzzX (10.01s)\n    context deadline exceeded\n    panic\nFAIL\n":                           {failed, false},
		"--- FAIL: FuzzX (10.01s)\n    context deadline exceeded\nFAIL\n":                                               {failed, false},
		"fuzz: elapsed: 10s, gathering baseline coverage: 6/24 completed\n--- PASS: FuzzX (10.40s)\n=== NAME  \nPASS\n": {nil, true},
		"=== RUN   FuzzX\n    x_test.go:6: no Redis here\n--- SKIP: FuzzX (0.00s)\nPASS\n":                              {nil, true},
		"testing: warning: no fuzz tests to fuzz\nPASS\n":                                                               {nil, false},
	} {
		if o := judge(said, tt.err); (o.err == nil && o.failing == "") != tt.fine {
			t.Errorf("%+v of:\n%s", o, said)
		}
	}
}
