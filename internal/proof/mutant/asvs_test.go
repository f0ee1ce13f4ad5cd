package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var quotedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Z0-9]\\w*)`")

// metLines returns the lines of docs/asvs.md that are met in the chapters from
// first to last: the tests that each names, by its number or numbers.
func metLines(t *testing.T, first, last int) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "asvs.md"))
	if err != nil {
		t.Fatal(err)
	}
	met := make(map[string][]string)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "|\n "), " | ")
		if len(cells) != 5 || cells[3] != "met" {
			continue
		}
		number, _, _ := strings.Cut(cells[0], ".")
		if chapter, err := strconv.Atoi(number); err != nil || chapter < first || chapter > last {
			continue
		}
		met[cells[0]] = []string{}
		for _, test := range quotedTest.FindAllStringSubmatch(cells[4], -1) {
			met[cells[0]] = append(met[cells[0]], test[1])
		}
	}
	return met
}

// TestEveryLineOfTheStandardCanFail: each line of docs/asvs.md that is met has an
// edit that takes its property away, or a reason why there is none; and each test
// that it names is red for such an edit. "make mutants" sees them red.
func TestEveryLineOfTheStandardCanFail(t *testing.T) {
	for _, table := range asvsTables() {
		met := metLines(t, table.First, table.Last)
		if len(met) == 0 {
			t.Errorf("docs/asvs.md has nothing in the chapters from %d to %d", table.First, table.Last)
		}
		broken := make(map[string]map[string]bool) // the tests of the breaks, by line
		for _, b := range table.Breaks {
			if broken[b.Line] == nil {
				broken[b.Line] = make(map[string]bool)
			}
			broken[b.Line][b.Test] = true
		}
		for line, tests := range met {
			switch reason, static := table.Static[line]; {
			case static && len(broken[line]) != 0:
				t.Errorf("%s is static, and it has breaks", line)
			case static && len(reason) < 15:
				t.Errorf("%s is static, and the reason is %q", line, reason)
			case !static && len(broken[line]) == 0:
				t.Errorf("%s is met, and no break shows that this can fail: add one to the table", line)
			}
			for _, test := range tests {
				// What a static line names watches what others do.
				if _, static := table.Static[line]; !static && !broken[line][test] {
					t.Errorf("%s names %s, and no break of this line makes it red", line, test)
				}
				delete(broken[line], test)
			}
			for test := range broken[line] {
				t.Errorf("%s has a break for %s, and the line does not name this test", line, test)
			}
			delete(broken, line)
		}
		for line := range broken {
			t.Errorf("%s has breaks, and docs/asvs.md has no such line that is met", line)
		}
		for line := range table.Static {
			if _, ok := met[line]; !ok {
				t.Errorf("%s is static, and docs/asvs.md has no such line that is met", line)
			}
		}
	}
}

// TestTestsOfTheStandardStandWhereTheTableSays: a break with another folder would
// run no test.
func TestTestsOfTheStandardStandWhereTheTableSays(t *testing.T) {
	for _, table := range asvsTables() {
		for _, b := range table.Breaks {
			files, err := filepath.Glob(filepath.Join(root, b.Package, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				found = found || strings.Contains(string(text), "\nfunc "+b.Test+"(")
			}
			if !found {
				t.Errorf("%s: %s has no test %s", b.Line, b.Package, b.Test)
			}
		}
	}
}
