package consoletest

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// An admin makes a user, looks at a login and ends it, disables the user, and
// gives another the role of an admin.
func TestConsoleManagesPeople(t *testing.T) { e2e.OnBothStores(t, consoleManagesPeople) }

func consoleManagesPeople(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 120)
	b := newBrowser(t, i)
	b.open("/console/users")
	b.login("ada")
	b.sees("person00119")
	b.fill("#name", "person0001")
	b.press(`form[role="search"] button`)
	b.press(`td a[href^="/console/users/"]`)
	b.sees("person00010", "Absolute lifetime:", "left")
	b.fill("[id^=end-reason]", "lost phone")
	b.press(`form[action="/console/logins/end"] button`)
	b.sees("The login has ended.", "Not logged in.")
	b.fill("#state-reason", "left us")
	b.press(`button[value="disabled"]`)
	b.sees("The user is disabled.")
	b.press(`a[href^="/console/audit?target="]`)
	b.sees("User disabled", "left us")

	b.open("/console/users")
	b.do(chromedp.Click(chromedp.CSS("details summary")))
	b.fill("#username", "grace")
	b.fill("#password", "another long passphrase here")
	b.press(`details form button`)
	b.sees("The user is created.", "grace")
	unprove(t, d)
	b.do(chromedp.SetValue(chromedp.CSS("#role"), "admin"))
	b.press(`button[value="role"]`)
	b.sees("Nothing was done yet.")
	b.fill("#confirm_password", "not the right passphrase")
	b.press(`button[value="role"]`)
	b.sees("The passphrase is wrong.")
	b.fill("#confirm_password", e2e.Passphrase)
	b.press(`button[value="role"]`)
	b.sees("The role is changed.")
	if n := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users WHERE role = 'admin' AND username = 'grace'"); n != 1 {
		t.Error("grace is no admin")
	}
}

func TestConsoleLogsEverybodyOut(t *testing.T) { e2e.OnBothStores(t, consoleLogsEverybodyOut) }

func consoleLogsEverybodyOut(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 60)
	b := newBrowser(t, i)
	b.open("/console/logins")
	b.login("ada")
	b.do(chromedp.Click(chromedp.CSS("details summary")))
	b.fill("#phrase", "yes")
	b.press(`details form button`)
	b.sees("No user was logged out.")
	unprove(t, d)
	b.fill("#phrase", "log everybody out")
	b.press(`details form button`)
	b.sees("Nothing was done yet.")
	b.fill("#confirm_password", e2e.Passphrase)
	b.press(`details form button`)
	b.sees("All users are logged out, including you.")
	b.open("/console/")
	b.sees("Log in")
}
