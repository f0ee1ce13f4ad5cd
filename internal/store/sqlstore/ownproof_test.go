//go:build unix

package sqlstore_test

import (
	"errors"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// TestAProofOfNoRole: a login of any role has it, for as long as what was shown in it counts.
func TestAProofOfNoRole(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, role := range []account.Role{account.RoleUser, account.RoleService, account.RoleAdmin} {
			user := w.user(t, string(role)+"s")
			w.run(t, "UPDATE users SET role = ? WHERE id = ?", string(role), int64(user))
			s := w.begin(t, user)
			may := func(when string, want error) {
				t.Helper()
				if err := w.makes(t, acts(s), audit.NeedsOwnProof); !errors.Is(err, want) {
					t.Errorf("%s, %s: %v, want %v", role, when, err, want)
				}
				if err := w.users.Authorize(t.Context(), acts(s), audit.NeedsOwnProof); !errors.Is(err, want) {
					t.Errorf("%s, %s, no change: %v, want %v", role, when, err, want)
				}
			}
			may("just logged in", nil)
			w.run(t, "UPDATE users SET token_proved_at = token_proved_at - 660000 WHERE id = ?", int64(user))
			may("eleven minutes later", audit.ErrUnproven)
			w.run(t, "UPDATE users SET disabled_at = 1 WHERE id = ?", int64(user))
			may("disabled", flakepass.ErrAccountDisabled)
		}
	})
}
