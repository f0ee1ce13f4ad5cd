package login

import (
	"os"
	"strings"
	"testing"
)

// TestEachReasonOnRecordIsDocumented: whoever looks for refusals in the record finds their codes in docs/logging.md.
func TestEachReasonOnRecordIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/logging.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reasons {
		if r.failed && !strings.Contains(string(text), "`"+r.code+"`") {
			t.Errorf("docs/logging.md does not have %s", r.code)
		}
	}
}
