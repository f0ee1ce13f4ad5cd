package consoletest

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// An admin loosens a limit, sees the mistake first, and takes it back; the
// record has it in words. No script is needed for any of it.
func TestConsoleTunesLimits(t *testing.T) { e2e.OnBothStores(t, consoleTunesLimits) }

func consoleTunesLimits(t *testing.T, d *e2e.Deployment) {
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.scripts(false)
	b.open("/console/limits")
	b.login("ada")
	b.open("/console/limits")
	b.sees("This is what is in force.", "5 at once, then one more every 12 seconds")
	b.fill("#login_address_1_count", "5")
	b.press(`.buttons button[value="save"]`)
	b.sees("This cannot be saved yet", "Allowed: 10 to 10,000")
	b.fill("#login_address_1_count", "240")
	b.do(chromedp.KeyEvent("\r")) // Enter looks before it leaps
	b.sees("Attempts from one address: 120 in 1 minute → 240 in 1 minute")
	if n := e2e.Count(t, d.SQL(t), "SELECT version FROM settings"); n != 1 {
		t.Fatalf("a preview made version %d", n)
	}
	b.fill("#note", "a school behind one address")
	b.press(`.buttons button[value="save"]`)
	b.sees("Saved.", "Version 2", "a school behind one address")
	b.press(`nav a[href="/console/audit"]`)
	b.sees("Policy changed", "Attempts from one address: 120 in 1 minute → 240 in 1 minute")
	b.open("/console/limits")
	b.press(`button[value="default:login_address"]`)
	b.sees("Attempts from one address: 240 in 1 minute → 120 in 1 minute")
	b.press(`.buttons button[value="save"]`)
	b.sees("Saved.", "Version 3")
	b.press(`form[action="/console/expiry/revert"] button`) // to the one before
	b.sees("Saved.", "Version 4", "Back to version 2")
	if got := b.path(); got != "/console/limits?done=saved" {
		t.Errorf("after it the page is %s", got)
	}
	if got := b.value("#login_address_1_count"); got != "240" {
		t.Errorf("in force are %s", got)
	}
}

// On a phone the filter of the record is folded until it is wanted, and open while
// one is set; where there is room it is simply there.
func TestConsoleFoldsTheFilterOnAPhone(t *testing.T) {
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.open("/console/audit")
	b.login("ada")
	const seen = `document.querySelector("#action").checkVisibility({contentVisibilityAuto: true}) && document.querySelector("#action").getBoundingClientRect().height > 0`
	const foldSeen = `document.querySelector(".fold > summary").checkVisibility()`
	for _, scripts := range []bool{true, false} {
		b.scripts(scripts)
		b.do(chromedp.EmulateViewport(1280, 800))
		b.open("/console/audit")
		if !evaluate[bool](b, seen) || evaluate[bool](b, foldSeen) {
			t.Error("where there is room the filter is folded")
		}
		b.do(chromedp.EmulateViewport(320, 800))
		b.open("/console/audit")
		if evaluate[bool](b, seen) || !evaluate[bool](b, foldSeen) {
			t.Error("on a phone the filter is not folded")
		}
		if top := evaluate[float64](b, `document.querySelector("table.record").getBoundingClientRect().top`); top > 500 {
			t.Errorf("on a phone the record begins %v pixels down", top)
		}
		if scripts { // by keys alone
			b.painted()
			b.do(chromedp.Focus(chromedp.CSS(".fold > summary")), chromedp.KeyEvent("\r"))
		} else {
			b.do(chromedp.Click(chromedp.CSS(".fold > summary")))
		}
		b.until(seen)
		b.open("/console/audit?action=login.began")
		if !evaluate[bool](b, seen) {
			t.Error("a filter that is set is folded")
		}
	}
}

// Of two admins one learns what the other has saved.
func TestConsoleConflictOfLimits(t *testing.T) {
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	for _, name := range []string{"ada", "bob"} {
		e2e.NewAdmin(t, d, name, account.RoleAdmin)
	}
	ada := newBrowser(t, i)
	ada.open("/console/limits")
	ada.login("ada")
	bob := ada.other()
	bob.open("/console/limits")
	bob.login("bob")
	bob.fill("#register_1_count", "40")
	bob.press(`.buttons button[value="save"]`)
	bob.sees("Saved.")
	ada.fill("#register_1_count", "20")
	ada.press(`.buttons button[value="save"]`)
	ada.sees("Another admin has changed this meanwhile", "Version 2 is in force now, by bob.", "40 in 1 hour", "20 in 1 hour")
	ada.press(`.buttons button[value="save"]`)
	ada.sees("Saved.", "Version 3")
}
