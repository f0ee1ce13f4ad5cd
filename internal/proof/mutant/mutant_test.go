package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// TestEveryMutantAppliesToTheCode is the part of "make mutants" that is quick.
func TestEveryMutantAppliesToTheCode(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range all() {
		if names[m.Name] {
			t.Errorf("two mutants are called %q", m.Name)
		}
		names[m.Name] = true
		text, err := os.ReadFile(filepath.Join(root, m.File))
		if err != nil {
			t.Error(err)
			continue
		}
		if changed, err := m.apply(string(text)); err != nil || changed == string(text) {
			t.Errorf("%v", err)
		}
		if _, err := regexp.Compile(m.Test); err != nil || m.Test == "" {
			t.Errorf("%s: tests %q: %v", m.Name, m.Test, err)
		}
		tests := testsOf(t, filepath.Join(root, m.Package))
		for one := range strings.SplitSeq(m.Test, "|") {
			top, _, _ := strings.Cut(one, "/")
			if is, err := regexp.Compile(top); err != nil || !slices.ContainsFunc(tests, is.MatchString) {
				t.Errorf("%s: %s has no test %q, %v", m.Name, m.Package, top, err)
			}
		}
	}
}

// testsOf are the names of the tests in a folder.
func testsOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	return names
}

func TestChangeHasToApplyInOnePlace(t *testing.T) {
	for _, test := range []struct {
		m    Mutant
		text string
		want error
	}{
		{Mutant{Old: "a", New: "b"}, "xyz", errNowhere},
		{Mutant{New: "b"}, "xyz", errNowhere},
		{Mutant{Old: "a", New: "b"}, "aa", errTwice},
		{Mutant{Old: "a", New: "a"}, "a", errSame},
		{Mutant{Old: "a", New: "b", Also: [][2]string{{"c", "d"}}}, "a", errNowhere},
	} {
		if got, err := test.m.apply(test.text); !errors.Is(err, test.want) {
			t.Errorf("%+v: %q, %v, want %v", test.m, got, err, test.want)
		}
	}
	got, err := Mutant{Old: "a", New: "b", Also: [][2]string{{"c", "d"}}}.apply("a-c")
	if got != "b-d" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// small is a module with a function and a test of it.
func small(t *testing.T) runner {
	t.Helper()
	r := runner{root: t.TempDir()}
	for name, text := range map[string]string{
		"go.mod":        "module example.com/small\n\ngo 1.26\n",
		"p/sum.go":      "package p\n\nfunc sum(a, b int) int { return a + b } // both\n",
		"p/sum_test.go": "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif sum(1, 2) != 3 {\n\t\tt.Error(\"seed 5: not 3\")\n\t}\n}\n\nfunc TestRed(t *testing.T) { t.Error(\"always\") }\n",
	} {
		name = filepath.Join(r.root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestVerdicts(t *testing.T) {
	minus := Mutant{Name: "minus", File: "p/sum.go", Old: "a + b", New: "a - b", Package: "p", Test: "^TestSum$"}
	for _, test := range []struct {
		name  string
		spoil func(*Mutant)
		want  string // in what is printed or said
		ok    bool
	}{
		{"caught", func(*Mutant) {}, "seed 5: not 3", true},
		{"survives", func(m *Mutant) { m.New = "b + a" }, "no test noticed", false},
		{"does not compile", func(m *Mutant) { m.New = "a +" }, "does not compile", false},
		{"does not apply", func(m *Mutant) { m.Old = "a * b" }, errNowhere.Error(), false},
		{"no such test", func(m *Mutant) { m.Test = "^TestProduct$" }, "no such test", false},
		{"red without a mutant", func(m *Mutant) { m.Test = "^TestRed$" }, "red without a mutant", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := minus
			test.spoil(&m)
			var out strings.Builder
			err := small(t).all(t.Context(), &out, []Mutant{m})
			said := out.String()
			if err != nil {
				said += err.Error()
			}
			if (err == nil) != test.ok || !strings.Contains(said, test.want) {
				t.Errorf("%v, and it printed:\n%s", err, said)
			}
		})
	}
}

func TestCopyHasTheFilesAndNotTheHistory(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"Makefile", "docs/a.md", ".git/HEAD", "bin/program"} {
		if err := os.MkdirAll(filepath.Join(from, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyModule(from, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"Makefile": true, "docs/a.md": true, ".git": false, "bin": false} {
		if _, err := os.Stat(filepath.Join(to, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it: %t", name, err, want)
		}
	}
}
