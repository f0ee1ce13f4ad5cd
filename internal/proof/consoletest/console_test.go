package consoletest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// populate gives a deployment users, of whom n are logged in: since an hour,
// two hours, and so on, and not seen after.
func populate(t testing.TB, d *e2e.Deployment, n int) {
	t.Helper()
	db := d.SQL(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	layout, now := idworker.Default(), time.Now()
	for i := range n {
		at := now.Add(-time.Duration(i%700)*time.Hour - time.Minute)
		id := int64(layout.Smallest(at)) + int64(i)%1000
		hash := append([]byte{1}, fmt.Sprintf("%032d", i)...)
		_, err := tx.ExecContext(t.Context(), `INSERT INTO users (id, username, password_hash, role, created_at, updated_at, token_id, token_hash, token_seen_at)
			VALUES (?, ?, '', 'user', ?, ?, ?, ?, ?)`, 1000+i, fmt.Sprintf("person%05d", i), at.UnixMilli(), at.UnixMilli(), id, hash, min(at.Add(time.Duration(i%300)*time.Minute).UnixMilli(), now.UnixMilli()))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// busy gives it a week in which something happened.
func busy(t testing.TB, d *e2e.Deployment) {
	t.Helper()
	db := d.SQL(t)
	now := time.Now().UTC().Truncate(time.Hour)
	for i := range 168 {
		at := now.Add(-time.Duration(i) * time.Hour)
		day := 1 + 6*max(0, 8-max(at.Hour()-13, 13-at.Hour()))
		for kind, n := range map[string]int{"login": 40 * day, "logout": 11 * day, "expired": 23 * day, "refused": 3 + i%5} {
			e2e.Execute(t, db, "INSERT INTO activity (hour, instance, kind, n) VALUES (?, 'x', ?, ?)", at.UnixMilli(), kind, n)
		}
	}
}

// The first minute on an empty database: the printed link, one form, and the overview.
func TestConsoleFirstMinute(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); consoleFirstMinute(t, e2e.OnNothing(t)) })
	t.Run("mysql-redis", func(t *testing.T) {
		t.Parallel()
		consoleFirstMinute(t, e2e.OnServer(t, testenv.MySQL(t), testenv.Redis(t)))
	})
}

func consoleFirstMinute(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	b := newBrowser(t, i)
	b.open(e2e.SetupLink.FindString(i.Out.String()))
	b.sees("Create the first admin")
	b.fill("#username", "ada")
	b.fill("#password", e2e.Passphrase)
	b.sees("Long enough.")
	b.press(`main button[type="submit"]`)
	if b.path() != "/console/" {
		t.Fatalf("leads to %s", b.path())
	}
	b.sees("Overview", "ada", "You are the only user who is logged in", "Ready")
	b.press(`nav a[href="/console/audit"]`)
	b.sees("User created", "ada")
	b.press(`form[action="/console/logout"] button`)
	b.sees("You have logged out.")
	b.open("/console/expiry")
	b.sees("Log in")
	b.login("ada")
	if b.path() != "/console/expiry" {
		t.Errorf("the login leads to %s", b.path())
	}
}

func TestConsoleRefusesWhoIsNoAdmin(t *testing.T) { e2e.OnBothStores(t, consoleRefusesWhoIsNoAdmin) }

func consoleRefusesWhoIsNoAdmin(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	e2e.NewAdmin(t, d, "bob", account.RoleUser)
	b := newBrowser(t, i)
	b.open("/console/")
	b.fill("#username", "bob")
	b.fill("#password", "not the right passphrase")
	b.press(`main button[type="submit"]`)
	b.sees("The username or the passphrase is wrong.")
	b.login("bob")
	b.sees("This account is not an admin.")
	if n := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); n != 0 {
		t.Errorf("%d logins were left behind", n)
	}
	b.open("/console/audit")
	b.sees("Log in")
}

// An admin drags, looks, confirms, and takes it back.
func TestConsoleTunesExpiry(t *testing.T) { e2e.OnBothStores(t, consoleTunesExpiry) }

func consoleTunesExpiry(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 600) // since up to 600 hours, so about 336 are not idle for 14 days
	b := newBrowser(t, i)
	b.open("/console/expiry")
	b.login("ada")
	b.sees("This is what is in force.")
	// The range, by the keyboard: one step below 14 days are 10.
	b.do(chromedp.Focus(chromedp.CSS(`input[data-for="idle"]`)), chromedp.KeyEvent(kb.ArrowLeft))
	b.sees("% of all.")
	if got := b.value("#idle"); got != "10d" {
		t.Errorf("the range says %q", got)
	}
	if n := e2e.Count(t, d.SQL(t), "SELECT version FROM settings"); n != 1 {
		t.Fatalf("a preview made version %d", n)
	}
	b.press(`button[value="save"]:not([hidden])`)
	b.sees("Confirm this change")
	unprove(t, d)
	b.press(`.danger[value="confirm"]`)
	b.sees("Nothing was done yet.")
	b.fill("#confirm_password", "not the right passphrase")
	b.press(`.danger[value="confirm"]`)
	b.sees("The passphrase is wrong.")
	b.fill("#confirm_password", e2e.Passphrase)
	b.press(`.danger[value="confirm"]`)
	b.sees("Saved.", "Version 2")
	if n := e2e.Count(t, d.SQL(t), "SELECT idle_timeout_ms FROM settings"); n != 10*dayInMS {
		t.Errorf("in force are %d ms", n)
	}
	b.press(`form[action="/console/expiry/revert"] button`)
	b.sees("Saved.", "Version 3", "Back to version 1")
	b.press(`nav a[href="/console/audit"]`)
	b.sees("Policy changed", "idle timeout: 10 days → 14 days", "console")
}

func TestConsoleConflictOfTwoAdmins(t *testing.T) { e2e.OnBothStores(t, consoleConflictOfTwoAdmins) }

func consoleConflictOfTwoAdmins(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	for _, name := range []string{"ada", "bob"} {
		e2e.NewAdmin(t, d, name, account.RoleAdmin)
	}
	ada := newBrowser(t, i)
	ada.open("/console/expiry")
	ada.login("ada")
	bob := ada.other()
	bob.open("/console/expiry")
	bob.login("bob")
	bob.preview("#idle", "20d")
	bob.press(`button[value="save"]:not([hidden])`)
	bob.sees("Saved.")
	ada.fill("#idle", "12d")
	ada.sees("Another admin has changed this meanwhile") // the preview says so
	ada.press(`button[value="save"]:not([hidden])`)
	ada.sees("Version 2 is in force now, by bob.", "20 days", "12 days")
	if got := ada.value("#idle"); got != "12d" {
		t.Errorf("what was typed is now %q", got)
	}
	if n := e2e.Count(t, d.SQL(t), "SELECT idle_timeout_ms FROM settings"); n != 20*dayInMS {
		t.Errorf("in force are %d ms", n)
	}
	ada.press(`button[value="save"]:not([hidden])`)
	ada.sees("Saved.")
	if n := e2e.Count(t, d.SQL(t), "SELECT idle_timeout_ms FROM settings"); n != 12*dayInMS {
		t.Errorf("in force are %d ms", n)
	}
}

func TestConsoleLoginThatIsOver(t *testing.T) { e2e.OnBothStores(t, consoleLoginThatIsOver) }

func consoleLoginThatIsOver(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.open("/console/")
	b.login("ada")
	b.sees("Overview")
	// An admin ends it; the instance reads this within the bound.
	b.other().open("/console/")
	other := b.other()
	other.open("/console/")
	other.login("ada")
	other.sees("Overview")
	b.open("/console/expiry?before=5")
	b.sees("somewhere else, which ended your login here")
	b.login("ada")
	if b.path() != "/console/expiry?before=5" {
		t.Errorf("leads to %s", b.path())
	}
}

func TestConsoleWithoutScripts(t *testing.T) { e2e.OnBothStores(t, consoleWithoutScripts) }

func consoleWithoutScripts(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 300)
	b := newBrowser(t, i)
	b.scripts(false)
	b.open("/console/expiry")
	b.login("ada")
	b.sees("This is what is in force.", "UTC")
	b.fill("#idle", "13d")
	b.press(`.buttons button[value="preview"]`)
	b.sees("This ends no login now.")
	b.press(`button[value="save"]:not([hidden])`)
	b.sees("Saved.")
	b.press(`form[action="/console/language"] button`)
	b.sees("过期策略")
	b.press(`form[action="/console/logout"] button`)
	b.sees("您已退出登录。")
}

// Enter in a field looks before it leaps.
func TestConsoleEnterPreviews(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.open("/console/expiry")
	b.login("ada")
	b.fill("#idle", "13d\r")
	b.sees("This ends no login now.")
	if n := e2e.Count(t, d.SQL(t), "SELECT version FROM settings"); n != 1 {
		t.Errorf("Enter made version %d", n)
	}
}

// Times are those of the viewer's zone, and what they are in UTC stays to be
// found.
func TestConsoleTimesAreTheViewers(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.open("/console/expiry")
	b.login("ada")
	shown := evaluate[string](b, `document.querySelector("time").textContent`)
	title := evaluate[string](b, `document.querySelector("time").title`)
	if strings.Contains(shown, "UTC") || !strings.HasSuffix(title, " UTC") {
		t.Errorf("shown as %q, with the title %q", shown, title)
	}
}

// What clients do is counted by the hour, and outlives the instance.
func TestConsoleCountsWhatHappens(t *testing.T) { e2e.OnBothStores(t, consoleCountsWhatHappens) }

func consoleCountsWhatHappens(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	c.Register("alice", e2e.Passphrase)
	first := c.Login("alice", e2e.Passphrase)
	second := c.Login("alice", e2e.Passphrase)
	c.TryLogin("alice", "not the right passphrase")
	c.Logout(first) // is over already
	c.Logout(second)
	if err := i.Stop(); err != nil {
		t.Fatal(err)
	}
	db := d.SQL(t)
	for kind, want := range map[string]int{"login": 2, "refused": 1, "logout": 1} {
		if n := e2e.Count(t, db, "SELECT COALESCE(SUM(n), 0) FROM activity WHERE kind = ?", kind); n != want {
			t.Errorf("%s is counted %d times, want %d", kind, n, want)
		}
	}
}

// dayInMS is a day as the settings keep it.
const dayInMS = 86_400_000
