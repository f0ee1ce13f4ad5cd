package limit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/limit"
)

// TestDocumentedRanges: what docs/throttling.md says of what may be set is what is
// checked.
func TestDocumentedRanges(t *testing.T) {
	page, err := os.ReadFile("../../docs/throttling.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, why := range limit.Ranges() {
		if row := "| `" + name + "` | " + why + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/throttling.md lacks %q", row)
		}
	}
}
