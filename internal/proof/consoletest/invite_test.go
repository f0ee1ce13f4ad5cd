package consoletest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// An admin invites a user, with scripts and without; the person opens the link
// and sets a passphrase that the admin never learns.
func TestConsoleInvitesAUser(t *testing.T) {
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.open("/console/users")
	b.login("ada")
	for n, name := range []string{"carol", "dave"} {
		b.scripts(n == 0)
		b.open("/console/users")
		b.do(chromedp.Click(chromedp.CSS("details summary")))
		if n == 0 { // by keys
			b.painted()
			b.do(chromedp.Focus(chromedp.CSS("#by-password")), chromedp.KeyEvent(kb.ArrowDown))
		} else {
			b.do(chromedp.Click(chromedp.CSS("#by-link")))
		}
		if n == 0 && evaluate[bool](b, `document.querySelector("#password").checkVisibility()`) {
			t.Error("the field for a passphrase that is not set here is shown")
		}
		b.fill("#username", name)
		b.press("details form button:last-of-type")
		b.sees("The user is created.", name, "One-time link")
		link := b.value("#link")
		if n == 0 && !strings.HasPrefix(link, b.at+"/console/password#fpr_") {
			t.Errorf("the link is %s", link)
		}
		token := b.value("#token")

		person := b.other()
		if n == 0 {
			person.open(strings.TrimPrefix(link, b.at))
		} else {
			person.scripts(false)
			person.open("/console/password")
			person.fill("#token", token)
		}
		person.fill("#password", "green ladder sleeps at dawn")
		person.fill("#password-again", "green ladder sleeps at dawn")
		person.press(`main button[type="submit"]`)
		person.sees("The passphrase is set")

		b.open("/console/audit")
		b.sees("User created", "One-time link made", "Password set by one-time link", name)
		if b.has(token) {
			t.Error("the record has the link")
		}
	}
}
