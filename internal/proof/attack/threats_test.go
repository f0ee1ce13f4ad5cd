//go:build unix

package attack

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestEveryThreatNamesItsTests: docs/threats.md has every attack, in order, and
// each names tests that there are.
func TestEveryThreatNamesItsTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := testenv.Tests(t, "../../..")
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	entries := strings.Split(string(text), "\n## ")[1:]
	if len(entries) != 28 {
		t.Errorf("%d attacks, want 26", len(entries))
	}
	for i, entry := range entries {
		heading, body, _ := strings.Cut(entry, "\n")
		if !strings.HasPrefix(heading, fmt.Sprintf("A%d. ", i+1)) {
			t.Errorf("%q stands where A%d should", heading, i+1)
		}
		names := named.FindAllStringSubmatch(body, -1)
		if len(names) < 2 {
			t.Errorf("%s names %d tests", heading, len(names))
		}
		for _, name := range names {
			if exists[name[1]] == nil {
				t.Errorf("%s: there is no %s", heading, name[1])
			}
		}
	}
}
