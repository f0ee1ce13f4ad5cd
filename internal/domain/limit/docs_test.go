package limit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// TestDocumentedRanges: what docs/throttling.md says of what may be set is what is
// checked.
func TestDocumentedRanges(t *testing.T) {
	page, err := os.ReadFile("../../../docs/throttling.md")
	if err != nil {
		t.Fatal(err)
	}
	starts := limit.Starts()
	for name, why := range limit.Ranges() {
		if !strings.HasPrefix(why, starts[name]) {
			t.Errorf("%s says %q, and what holds is %q", name, why, starts[name])
		}
		if row := "| `" + name + "` | " + why + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/throttling.md lacks %q", row)
		}
	}
}
