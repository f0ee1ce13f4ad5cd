package consoletest

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// An admin deletes a user, who has to be named and for whom the passphrase is needed, and
// then asks for the own account to be deleted, and comes back.
func TestConsoleDeletes(t *testing.T) { e2e.OnBothStores(t, consoleDeletes) }

func consoleDeletes(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t, "FLAKEPASS_SELF_DELETION", "on")
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 20)
	b := newBrowser(t, i)
	b.open("/console/users/1007")
	b.login("ada")
	b.sees("person00007")
	b.fill("#delete-name", "person00008")
	b.press(`form[action$="/delete"] button`)
	b.sees("This is not the username. Nothing was deleted.", "person00007")
	unprove(t, d)
	b.fill("#delete-name", "Person00007")
	b.fill("#delete-reason", "asked for it")
	b.press(`form[action$="/delete"] button`)
	b.sees("Nothing was done yet.")
	b.fill("#confirm_password", e2e.Passphrase)
	b.press(`form[action$="/delete"] button`)
	b.sees("The user is deleted.")
	db := d.SQL(t)
	if n := e2e.Count(t, db, "SELECT COUNT(*) FROM users WHERE deleted_at IS NOT NULL AND username = 'person00007'"); n != 1 {
		t.Error("nobody was deleted, or somebody else")
	}
	b.open("/console/users/1007")
	b.sees("There is no such user")

	b.open("/console/account")
	b.fill("#delete-name", "ada")
	b.press(`button[value="delete_me"]`)
	b.sees("This is the last enabled admin.")
	e2e.NewAdmin(t, d, "grace", account.RoleAdmin)
	b.fill("#delete-name", "grace")
	b.press(`button[value="delete_me"]`)
	b.sees("This is not the username. Nothing was deleted.")
	b.fill("#delete-name", "ada")
	b.press(`button[value="delete_me"]`)
	b.sees("You are logged out, and your account will be deleted.")
	b.login("ada")
	b.sees("You have logged in, so your account will not be deleted.")
	e2e.MustRecord(t, db, "user.deletion_cancelled", "ada")
}
