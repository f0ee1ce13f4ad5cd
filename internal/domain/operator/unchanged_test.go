package operator_test

import (
	"errors"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

// TestVerbsThatChangeNothingNeedTheSameRights: who may not do something is refused
// also where there is nothing to do.
func TestVerbsThatChangeNothingNeedTheSameRights(t *testing.T) {
	yes, no, user := true, false, account.RoleUser
	for name, verb := range map[string]struct {
		need audit.Need
		do   func(d *desk) error
	}{
		"a role that the user has": {audit.NeedsProof, func(d *desk) error {
			_, _, err := d.users.Change(t.Context(), by, d.rows[0].ID, operator.UserChange{Role: &user})
			return err
		}},
		"to enable who is enabled": {audit.NeedsProof, func(d *desk) error {
			_, _, err := d.users.Change(t.Context(), by, d.rows[0].ID, operator.UserChange{Disabled: &no})
			return err
		}},
		"to disable who is disabled": {audit.NeedsAdmin, func(d *desk) error {
			_, _, err := d.users.Change(t.Context(), by, d.rows[1].ID, operator.UserChange{Disabled: &yes})
			return err
		}},
		"no change": {audit.NeedsAdmin, func(d *desk) error {
			_, _, err := d.users.Change(t.Context(), by, d.rows[0].ID, operator.UserChange{})
			return err
		}},
		"to log out who is logged out": {audit.NeedsAdmin, func(d *desk) error {
			_, err := d.users.Logout(t.Context(), by, d.rows[0].ID, "", "")
			return err
		}},
		"to end a login that has ended": {audit.NeedsAdmin, func(d *desk) error {
			_, err := d.sessions.End(t.Context(), by, d.logins[0].ID, "")
			return err
		}},
		"to remove a second factor that is not there": {audit.NeedsProof, func(d *desk) error {
			_, err := d.users.RemoveSecondFactor(t.Context(), by, d.rows[0].ID, "")
			return err
		}},
		"to withdraw links of who has made none": {audit.NeedsAdmin, func(d *desk) error {
			_, err := d.users.WithdrawIssued(t.Context(), by, d.rows[0].ID, "")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.login(d.add("ada", account.RoleUser), now)
			bob := d.add("bob", account.RoleUser)
			d.row(bob).DisabledAt = now
			if _, err := d.users.Logout(t.Context(), by, d.rows[0].ID, "", ""); err != nil {
				t.Fatal(err)
			}
			events, published := len(d.events), len(d.published)
			d.needed, d.denied = nil, audit.ErrUnproven
			if err := verb.do(d); !errors.Is(err, audit.ErrUnproven) {
				t.Errorf("denied: %v", err)
			}
			if len(d.needed) != 1 || d.needed[0] != verb.need {
				t.Errorf("checked for %v, want %v", d.needed, verb.need)
			}
			d.denied = nil
			if err := verb.do(d); err != nil {
				t.Errorf("allowed: %v", err)
			}
			if len(d.events) != events || len(d.published) > published+1 {
				t.Errorf("%d events and %d published, where nothing changed", len(d.events)-events, len(d.published)-published)
			}
		})
	}
}
