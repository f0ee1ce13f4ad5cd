package apitest_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// TestProblemsPageAndSpecAgree holds docs/problems.md, to which the type of
// every problem points, and the contract equal: the same codes, each with the
// same statuses.
func TestProblemsPageAndSpecAgree(t *testing.T) {
	page, err := os.ReadFile("../../../docs/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	got, want := documented(t, string(page)), declared(t)
	for _, code := range slices.Sorted(maps.Keys(want)) {
		switch statuses, ok := got[code]; {
		case !ok:
			t.Errorf("docs/problems.md has no section %s", code)
		case statuses != want[code]:
			t.Errorf("docs/problems.md: status of %s: got %s, want %s", code, statuses, want[code])
		}
	}
	for code := range got {
		if want[code] == "" {
			t.Errorf("docs/problems.md has a section %s, which the contract does not have", code)
		}
	}
}

// documented reads the sections "### code" and their statuses: "401", or
// "401 or 403".
func documented(t *testing.T, page string) map[string]string {
	t.Helper()
	status := regexp.MustCompile(`^\*\*Status:\*\* ([0-9]{3}(?: or [0-9]{3})*)\n`)
	found := make(map[string]string)
	for section := range strings.SplitSeq(page, "\n### ") {
		code, rest, _ := strings.Cut(section, "\n")
		if strings.HasPrefix(code, "#") { // the page up to its first section
			continue
		}
		if _, twice := found[code]; twice {
			t.Errorf("docs/problems.md has two sections %s", code)
		}
		match := status.FindStringSubmatch(strings.TrimLeft(rest, "\n"))
		if match == nil {
			t.Errorf("docs/problems.md: %s does not begin with its status", code)
			match = []string{"", "none"}
		}
		for _, part := range []string{"**Meaning:** ", "**What to do:** "} {
			if !strings.Contains(rest, part) {
				t.Errorf("docs/problems.md: %s has no %q", code, part)
			}
		}
		found[code] = match[1]
	}
	return found
}

func declared(t *testing.T) map[string]string {
	t.Helper()
	statuses := make(map[string][]string)
	for _, problems := range apitest.Codes(t) {
		for _, p := range problems {
			statuses[p.Code] = append(statuses[p.Code], fmt.Sprint(p.Status))
		}
	}
	joined := make(map[string]string)
	for code, all := range statuses {
		slices.Sort(all)
		joined[code] = strings.Join(slices.Compact(all), " or ")
	}
	return joined
}

// TestRulesAreDocumented: a client may switch on the code of each rule that a field breaks, so
// the page names each that the code can give.
func TestRulesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### validation_failed\n")
	section, _, _ = strings.Cut(section, "\n### ")
	given := regexp.MustCompile(`\bCode[A-Z]\w* += "([a-z_]+)"|(?:invalid\.Of\(|\.Add\()[^,\n]+, "([a-z_]+)"|invalid\.Field\{.*Code: "([a-z_]+)"`)
	codes := make(map[string]bool)
	for _, pattern := range []string{"../../domain/*/*.go", "../../edge/httpapi/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 20 {
			t.Fatal(len(files), err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range given.FindAllStringSubmatch(string(source), -1) {
				codes[m[1]+m[2]+m[3]] = true
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		if !strings.Contains(section, "`"+code+"`") {
			t.Errorf("docs/problems.md does not name the rule %s", code)
		}
	}
	if len(codes) < 15 {
		t.Errorf("only %d rules are found", len(codes))
	}
}
