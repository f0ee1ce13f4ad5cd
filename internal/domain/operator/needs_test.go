package operator_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

// TestEachVerbAsksForItsRights: the events of a verb say what the actor needs for
// it, and the store looks at that. A stolen token alone is not enough for what gives
// power that outlives the login, for what loosens the limits, and for what ends the
// logins of all.
func TestEachVerbAsksForItsRights(t *testing.T) {
	yes, no, service := true, false, account.RoleService
	change := func(c operator.UserChange) func(*drawer) error {
		return func(d *drawer) error { _, _, err := d.users.Change(t.Context(), by, d.rows[0].ID, c); return err }
	}
	create := func(role account.Role) func(*drawer) error {
		return func(d *drawer) error {
			_, err := d.users.Create(t.Context(), by, "grace", account.NewPassword(passphrase), role, "")
			return err
		}
	}
	for name, verb := range map[string]struct {
		need audit.Need
		do   func(d *drawer) error
	}{
		"makes a user":      {audit.NeedsAdmin, create(account.RoleUser)},
		"makes a service":   {audit.NeedsProof, create(account.RoleService)},
		"makes an admin":    {audit.NeedsProof, create(account.RoleAdmin)},
		"gives a role":      {audit.NeedsProof, change(operator.UserChange{Role: &service})},
		"disables":          {audit.NeedsAdmin, change(operator.UserChange{Disabled: &yes})},
		"disables, role as": {audit.NeedsProof, change(operator.UserChange{Disabled: &yes, Role: &service})},
		"enables": {audit.NeedsProof, func(d *drawer) error {
			d.row(d.rows[0].ID).DisabledAt = now
			return change(operator.UserChange{Disabled: &no})(d)
		}},
		"sets a password": {audit.NeedsProof, func(d *drawer) error {
			_, err := d.users.SetPassword(t.Context(), by, d.rows[0].ID, account.NewPassword(passphrase), "")
			return err
		}},
		"invites": {audit.NeedsProof, func(d *drawer) error {
			_, _, err := d.users.Invite(t.Context(), by, "grace", account.RoleUser, 0, "")
			return err
		}},
		"gives out a link": {audit.NeedsProof, func(d *drawer) error {
			_, err := d.users.StartReset(t.Context(), by, d.rows[0].ID, 0, "")
			return err
		}},
		"withdraws a link": {audit.NeedsAdmin, func(d *drawer) error {
			d.live[d.rows[0].ID] = account.Reset{}
			return d.users.WithdrawReset(t.Context(), by, d.rows[0].ID, "")
		}},
		"withdraws all links": {audit.NeedsAdmin, func(d *drawer) error {
			d.open = []account.OpenReset{{ID: 1, UserID: d.rows[0].ID}}
			_, err := d.users.WithdrawIssued(t.Context(), by, d.rows[0].ID, "")
			return err
		}},
		"removes a second factor": {audit.NeedsProof, func(d *drawer) error {
			d.Users.Change(d.rows[0].ID, func(u *account.User) { u.SecondFactorAt = now })
			_, err := d.users.RemoveSecondFactor(t.Context(), by, d.rows[0].ID, "")
			return err
		}},
		"deletes": {audit.NeedsProof, func(d *drawer) error {
			_, err := d.users.Delete(t.Context(), by, d.rows[0].ID, d.rows[0].Username, "")
			return err
		}},
		"ends a login": {audit.NeedsAdmin, func(d *drawer) error {
			_, err := d.sessions.End(t.Context(), by, d.logins[0].ID, "")
			return err
		}},
		"logs a user out": {audit.NeedsAdmin, func(d *drawer) error {
			_, err := d.users.Logout(t.Context(), by, d.rows[0].ID, "", "")
			return err
		}},
		"ends all logins": {audit.NeedsProof, func(d *drawer) error {
			_, err := d.sessions.EndAll(t.Context(), by, "")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrawer(t)
			d.login(d.add("ada", account.RoleUser), now)
			if err := verb.do(d); err != nil || len(d.events) == 0 {
				t.Fatalf("%v, %d events", err, len(d.events))
			}
			for _, e := range d.events {
				if e.Need != verb.need {
					t.Errorf("%s needs %v, want %v", e.Action, e.Need, verb.need)
				}
			}
		})
	}
	t.Run("changes the policy", func(t *testing.T) {
		s, p := newPolicies()
		next := s.inForce
		next.Idle = time.Hour
		if _, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: s.inForce.Version, Next: next, Confirmed: true}); err != nil {
			t.Fatal(err)
		}
		if s.event.Need != audit.NeedsProof {
			t.Errorf("needs %v", s.event.Need)
		}
	})
}
