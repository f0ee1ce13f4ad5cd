package httpapi_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// TestAFailureHasOneCode: in the record, in the log and in the answer.
func TestAFailureHasOneCode(t *testing.T) {
	alike := 0
	for err, code := range httpapi.ProblemErrors() {
		if reason, _ := login.Reason(err); reason != "unavailable" {
			if alike++; reason != code {
				t.Errorf("%v is %q on record and %q in an answer", err, reason, code)
			}
		}
	}
	if alike < 12 {
		t.Errorf("only %d errors have a code in both", alike)
	}
}
