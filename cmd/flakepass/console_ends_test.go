package main

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// refusedWithin waits until an instance refuses a token with that code. What it
// remembers may be as old as the bound.
func refusedWithin(t testing.TB, c *client, token, code string) {
	t.Helper()
	testenv.Eventually(t, patience, func() bool {
		a := c.me(token)
		return a.status == 401 && a.field("code") == code
	}, "the token is refused with "+code)
}

// An admin ends a login on one instance, and another, which had just accepted
// its token, refuses it.
func TestConsoleEndsALoginOnEveryInstance(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	one, two := d.start(t), d.start(t)
	newAdmin(t, d, "ada", account.RoleAdmin)
	apps := newClient(t, two.public)
	apps.register("alice", passphrase)
	apps.register("carol", passphrase)
	alice, carol := apps.login("alice", passphrase), apps.login("carol", passphrase)
	apps.alive(alice)
	apps.alive(carol)

	b := newBrowser(t, one)
	b.open("/console/users?name=alice")
	b.login("ada")
	b.press(`td a[href^="/console/users/"]`)
	b.fill("#end-reason", "lost phone")
	b.press(`form[action="/console/logins/end"] button`)
	b.sees("The login has ended.", "Not logged in.")
	refusedWithin(t, apps, alice, "token_revoked")
	apps.alive(carol)

	b.open("/console/logins")
	b.do(chromedp.Click(chromedp.CSS("details summary")))
	b.fill("#phrase", "log everybody out")
	b.press(`details form button`)
	b.sees("Everybody is logged out, you too.")
	refusedWithin(t, apps, carol, "token_revoked")

	// The admin's own login is over on the other instance, too.
	elsewhere := newBrowser(t, two)
	elsewhere.open("/console/")
	elsewhere.sees("Log in")
}
