package audit_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// TestAProofOfNoRoleIncludesNone: and no role includes the proof.
func TestAProofOfNoRoleIncludesNone(t *testing.T) {
	ladder := []audit.Need{audit.NeedsNothing, audit.NeedsLogin, audit.NeedsService, audit.NeedsAdmin, audit.NeedsProof}
	for i, n := range ladder {
		for j, o := range ladder {
			if n.Includes(o) != (i >= j) {
				t.Errorf("%d includes %d: %v", n, o, n.Includes(o))
			}
		}
		if n.Includes(audit.NeedsOwnProof) != (n == audit.NeedsProof) {
			t.Errorf("%d includes the proof: %v", n, n.Includes(audit.NeedsOwnProof))
		}
		if own := audit.NeedsOwnProof; own.Includes(n) != (n <= audit.NeedsLogin) || !own.Includes(own) {
			t.Errorf("the proof includes %d: %v", n, own.Includes(n))
		}
	}
}
