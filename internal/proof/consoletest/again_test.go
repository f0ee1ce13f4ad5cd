package consoletest

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// What was done is shown once, the way back shows what is in force, and whoever
// presses twice has saved once.
func TestConsoleBackReloadAndTwice(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.open("/console/expiry")
	b.login("ada")
	b.fill("#idle", "13d")
	evaluate[bool](b, `((save) => { save.click(); save.click(); return true })(document.querySelector('button[value="save"]:not([hidden])'))`)
	b.sees("Saved.", "Version 2")
	if at := b.path(); at != "/console/expiry" {
		t.Errorf("the page is at %s; a reload would show again what was done", at)
	}
	if n := e2e.Count(t, d.SQL(t), "SELECT version FROM settings"); n != 2 {
		t.Errorf("version %d is in force", n)
	}
	b.leave("location.reload()", "Version 2")
	if strings.Contains(b.reads(), "Saved.") {
		t.Error("a reload shows again what was done")
	}
	b.open("/console/audit")
	b.leave("history.back()", "Version 2")
	if got := evaluate[string](b, `document.getElementById("idle").value`); got != "13d" {
		t.Errorf("on the way back the page says %q", got)
	}
}

// leave has a script lead to a page, and waits until it says that text.
func (b *browser) leave(script, text string) {
	b.t.Helper()
	evaluate[bool](b, "(window.stale = true, "+script+", true)")
	testenv.Eventually(b.t, e2e.Patience, func() bool {
		return evaluate[bool](b, `!window.stale && document.readyState === "complete"`) && strings.Contains(b.reads(), text)
	}, "the page says: "+text)
}

// reads is what a person reads now, with no wait for a node to be there.
func (b *browser) reads() string {
	b.t.Helper()
	return evaluate[string](b, "document.body.innerText")
}

// An admin whose login ends elsewhere while a page is open reads that what
// they sent was not done, logs in, and is where they were.
func TestConsoleFormAfterTheEnd(t *testing.T) { e2e.OnBothStores(t, consoleFormAfterTheEnd) }

func consoleFormAfterTheEnd(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 30)
	b := newBrowser(t, i)
	b.open("/console/logins")
	b.login("ada")
	b.sees("person00000")
	b.press(`a[rel="next"]`)
	page := b.path()
	elsewhere := b.other()
	elsewhere.open("/console/")
	elsewhere.login("ada")
	elsewhere.sees("Overview")
	b.press(`form[action="/console/logins/end"] button`)
	b.sees("somewhere else, which ended your login here", "What you sent was not done.")
	if n := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); n != 31 {
		t.Errorf("%d are logged in, want all 31", n)
	}
	b.login("ada")
	if at := b.path(); at != page {
		t.Errorf("leads to %s, want %s", at, page)
	}
}

// Without its database the console shows a page that says so and leads on, and
// goes on where it was when the database is back.
func TestConsoleWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	proxy, through := e2e.Between(t, d)
	i := d.StartLoud(t, through...)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.open("/console/audit?action=user.created")
	b.login("ada")
	b.sees("Audit")
	proxy.Decide(func(string) e2e.Fate { return e2e.NeverSent })
	b.open("/console/audit?action=user.created")
	b.sees("Not available now")
	b.portraits("unavailable")
	proxy.Pass()
	b.sees("Try again")
	b.pressUntil(`main a.button`, "Nothing matches.")
	if at := b.path(); at != "/console/audit?action=user.created" {
		t.Errorf("leads to %s", at)
	}
}
