package consoletest

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// refusedWithin waits until an instance refuses a token with that code. What it
// remembers may be as old as the bound.
func refusedWithin(t testing.TB, c *e2e.Client, token, code string) {
	t.Helper()
	testenv.Eventually(t, e2e.Patience, func() bool {
		a := c.Me(token)
		return a.Status == 401 && a.Field("code") == code
	}, "the token is refused with "+code)
}

// An admin ends a login on one instance, and another, which had just accepted
// its token, refuses it.
func TestConsoleEndsALoginOnEveryInstance(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	one, two := d.Start(t), d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	apps := e2e.NewClient(t, two.Public)
	apps.Register("alice", e2e.Passphrase)
	apps.Register("carol", e2e.Passphrase)
	alice, carol := apps.Login("alice", e2e.Passphrase), apps.Login("carol", e2e.Passphrase)
	apps.Alive(alice)
	apps.Alive(carol)

	b := newBrowser(t, one)
	b.open("/console/users?name=alice")
	b.login("ada")
	b.press(`td a[href^="/console/users/"]`)
	b.fill("[id^=end-reason]", "lost phone")
	b.press(`form[action="/console/logins/end"] button`)
	b.sees("The login has ended.", "Not logged in.")
	refusedWithin(t, apps, alice, "token_revoked")
	apps.Alive(carol)

	b.open("/console/logins")
	b.do(chromedp.Click(chromedp.CSS("details summary")))
	b.fill("#phrase", "log everybody out")
	b.press(`details form button`)
	b.sees("All users are logged out, including you.")
	refusedWithin(t, apps, carol, "token_revoked")

	// The admin's own login is over on the other instance, too.
	elsewhere := newBrowser(t, two)
	elsewhere.open("/console/")
	elsewhere.sees("Log in")
}
