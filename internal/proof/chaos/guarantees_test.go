package chaos

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// root is the folder of the module.
const root = "../../.."

var (
	testName  = regexp.MustCompile("`(Test[A-Za-z]+)((?:/[a-z_]+)*)`")
	faultName = regexp.MustCompile(`\{name: "([a-z_]+)"`)
)

// TestEveryGuaranteeNamesATestThatExists: docs/guarantees.md says which test
// shows each of its rows, every fault of TestFaults is in it, and it says so
// where no test shows anything.
func TestEveryGuaranteeNamesATestThatExists(t *testing.T) {
	exists, named := testenv.Tests(t, root), map[string]bool{}
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
		if cells := strings.Split(strings.Trim(line, "|\n "), "|"); len(cells) == 5 && !strings.Contains(line, "---") {
			head := strings.TrimSpace(cells[0]) == "failure"
			if rows++; !head && len(names) == 0 && strings.TrimSpace(cells[4]) != "none" {
				t.Errorf("no test is named, nor \"none\":\n%s", line)
			}
		}
		for _, name := range names {
			if !exists[name[1]] {
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
	if rows < 15 {
		t.Errorf("%d rows found: the table is not what this test reads", rows)
	}
	for fault, ok := range named {
		if !ok {
			t.Errorf("docs/guarantees.md says nothing of the fault %q", fault)
		}
	}
}
