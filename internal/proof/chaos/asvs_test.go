package chaos

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

var (
	asvsID   = regexp.MustCompile(`\d+\.\d+(?:\.\d+)?`)
	quoted   = regexp.MustCompile("`([^`]+)`")
	testLike = regexp.MustCompile(`^(Test|Fuzz)[A-Z0-9]\w*$`)
	fileLike = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)*$`)
)

// TestEveryASVSLineHasItsEvidence: docs/asvs.md calls nothing met without a test
// or a file that exists, gives a reason for all else, and says each thing once.
func TestEveryASVSLineHasItsEvidence(t *testing.T) {
	exists := testenv.Tests(t, root)
	isFile := func(name string) bool {
		if !fileLike.MatchString(name) || strings.Contains(name, "..") {
			return false
		}
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil && info.Mode().IsRegular()
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "asvs.md"))
	if err != nil {
		t.Fatal(err)
	}
	states, seen, chapters := map[string]int{}, map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "|\n "), " | ")
		if !strings.HasPrefix(line, "| ") || cells[0] == "id" {
			continue
		}
		if len(cells) != 5 {
			t.Errorf("%d cells, want 5: %s", len(cells), line)
			continue
		}
		for _, id := range asvsID.FindAllString(cells[0], -1) {
			if seen[id] {
				t.Errorf("%s stands there twice", id)
			}
			seen[id] = true
			chapter, _, _ := strings.Cut(id, ".")
			chapters[chapter] = true
		}
		states[cells[3]]++
		evidence := 0
		for _, name := range quoted.FindAllStringSubmatch(cells[4], -1) {
			switch looksLikeOne := testLike.MatchString(name[1]); {
			case exists[name[1]] != nil || isFile(name[1]):
				evidence++
			case looksLikeOne:
				t.Errorf("%s: there is no test %s", cells[0], name[1])
			case strings.Contains(name[1], "/") && fileLike.MatchString(name[1]):
				t.Errorf("%s: there is no file %s", cells[0], name[1])
			}
		}
		switch reason := strings.TrimSpace(quoted.ReplaceAllString(cells[4], "")); cells[3] {
		case "met":
			if evidence == 0 {
				t.Errorf("%s is met, and nothing that exists shows it: %s", cells[0], cells[4])
			}
		case "not met", "not applicable":
			if len(reason) < 15 {
				t.Errorf("%s is %s, and the reason is %q", cells[0], cells[3], reason)
			}
		default:
			t.Errorf("%s is %q", cells[0], cells[3])
		}
	}
	if len(chapters) != 17 || states["met"] < 100 || states["not met"] == 0 {
		t.Errorf("%d chapters, %v: the tables are not what this test reads", len(chapters), states)
	}
}
