package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// TestDocumentedLifetimes holds the table in SECURITY.md to the policy of a new
// deployment, and to the range that a policy may have.
func TestDocumentedLifetimes(t *testing.T) {
	page, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	days := func(d time.Duration) string { return fmt.Sprintf("%.0f days", d.Hours()/24) }
	p := policy.Default()
	for _, row := range []string{
		"| idle timeout | a login that is not used ends after | " + days(p.Idle) + " |",
		"| absolute lifetime | a login ends however much it is used after | " + days(p.Absolute) + " |",
		"an absolute lifetime of at most " + days(policy.MaxAbsolute),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("SECURITY.md lacks %q", row)
		}
	}
}
