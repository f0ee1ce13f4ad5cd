package chaos

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// root is the folder of the module.
const root = "../../.."

var (
	testName  = regexp.MustCompile("`(Test[A-Za-z]+)((?:/[a-z_]+)*)`")
	faultName = regexp.MustCompile(`\{name: "([a-z_]+)"`)
	goTest    = regexp.MustCompile("`go test (?:-run ([A-Za-z]+) )?([^`]+)`")
)

// TestEveryGuaranteeNamesATestThatExists: docs/guarantees.md says which test
// shows each of its rows, every fault of TestFaults is in it, and it says so
// where no test shows anything. Its commands run what they stand beside.
func TestEveryGuaranteeNamesATestThatExists(t *testing.T) {
	folders, named := testenv.Tests(t, root), map[string]bool{}
	faults, err := os.ReadFile("faults_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range faultName.FindAllSubmatch(faults, -1) {
		named[string(m[1])] = false // not named yet
	}
	if len(named) < 20 {
		t.Fatalf("faults_test.go has %d faults: the pattern that finds them is wrong", len(named))
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		names := testName.FindAllStringSubmatch(line, -1)
		wantRun(t, line, names, folders)
		if cells := strings.Split(strings.Trim(line, "|\n "), "|"); len(cells) == 5 && !strings.Contains(line, "---") {
			head := strings.TrimSpace(cells[0]) == "failure"
			if rows++; !head && len(names) == 0 && strings.TrimSpace(cells[4]) != "none" {
				t.Errorf("no test is named, nor \"none\":\n%s", line)
			}
		}
		for _, name := range names {
			if len(folders[name[1]]) == 0 {
				t.Errorf("there is no %s", name[1])
			}
			if name[1] == "TestFaults" && name[2] != "" {
				fault := name[2][strings.LastIndex(name[2], "/")+1:]
				if _, ok := named[fault]; !ok {
					t.Errorf("TestFaults has no fault %q", fault)
				}
				named[fault] = true
			}
		}
	}
	if !strings.Contains(string(text), "`bin/withservers -- go test -count 1 -v -run NAME ./... ./api/... ./idworker/...`") {
		t.Error("the page does not say how to run one of the tests that it names")
	}
	if rows < 15 {
		t.Errorf("%d rows found: the table is not what this test reads", rows)
	}
	for fault, ok := range named {
		if !ok {
			t.Errorf("docs/guarantees.md says nothing of the fault %q", fault)
		}
	}
}

// wantRun: if a line has commands of go test, they run the tests that it names: each command one of
// them at least, chosen with -run, and each test is run by one.
func wantRun(t *testing.T, line string, names [][]string, folders map[string][]string) {
	t.Helper()
	commands := goTest.FindAllStringSubmatch(line, -1)
	ran := map[string]bool{}
	for _, c := range commands {
		some := false
		for _, name := range names {
			if c[1] != "" && strings.Contains(name[1], c[1]) && slices.ContainsFunc(strings.Fields(c[2]), func(packages string) bool {
				below, all := strings.CutSuffix(packages, "...")
				return slices.ContainsFunc(folders[name[1]], func(in string) bool {
					return "./"+in == packages || all && strings.HasPrefix("./"+in, below)
				})
			}) {
				some, ran[name[1]] = true, true
			}
		}
		if !some {
			t.Errorf("%s runs none of the tests beside it by its name", c[0])
		}
	}
	for _, name := range names {
		if len(commands) > 0 && !ran[name[1]] {
			t.Errorf("no command runs %s:\n%s", name[1], line)
		}
	}
}
