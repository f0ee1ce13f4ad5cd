package consoletest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// Everything that a page has to press or to fill in is reached with the Tab key
// alone, and is seen to have the focus (WCAG 2.2, 2.1.1 and 2.4.7).
func TestConsoleIsReachedByKeys(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 30)
	b := newBrowser(t, i)
	b.open("/console/login")
	b.tabs("login")
	b.open("/console/expiry")
	b.login("ada")
	b.tabs("expiry")
	for _, path := range []string{"/console/", "/console/limits", "/console/users", "/console/users/1005", "/console/logins", "/console/audit", "/console/nothing"} {
		b.open(path)
		b.until(`!document.querySelector("[data-fill][aria-busy=true]")`) // figures that come later take the place of what was there
		evaluate[bool](b, `(document.querySelectorAll("details").forEach(d => d.open = true), true)`)
		b.tabs(path)
	}
	// And by keys alone a user is found, and their login is ended.
	b.open("/console/users")
	b.types("#name", "person00007")
	b.do(chromedp.KeyEvent("\r"))
	testenv.Eventually(t, e2e.Patience, func() bool { return b.path() == "/console/users?name=person00007" }, "the page shows who was looked for")
	b.sees("person00007")
	b.painted()
	b.do(chromedp.Focus(chromedp.CSS("td a")), chromedp.KeyEvent("\r"))
	b.sees("Idle timeout:")
	b.types("[id^=end-reason]", "lost phone")
	b.do(chromedp.KeyEvent("\t"))
	b.until(`document.activeElement?.matches("button.danger, form button") ?? false`)
	b.do(chromedp.KeyEvent("\r"))
	b.sees("The login has ended.", "Not logged in.")
}

// painted waits until the page has been drawn: a browser drops the keys that
// come before.
func (b *browser) painted() {
	b.t.Helper()
	evaluate[bool](b, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// types types a text into a field, and makes sure that it is there.
func (b *browser) types(field, text string) {
	b.t.Helper()
	b.painted()
	b.do(chromedp.Focus(chromedp.CSS(field)), chromedp.KeyEvent(text))
	b.until(fmt.Sprintf("document.querySelector(%q).value === %q", field, text))
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	testenv.Eventually(b.t, e2e.Patience, func() bool { return evaluate[bool](b, expression) }, expression)
}

// tabs presses Tab until everything had the focus.
func (b *browser) tabs(name string) {
	b.t.Helper()
	b.painted()
	all := evaluate[int](b, `(() => {
		const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
			.filter(e => e.checkVisibility() && e.tabIndex >= 0 && !e.disabled && e.type !== "hidden" &&
				(e.type !== "radio" || e.checked)); // one stop for all of a group; the arrows go on
		window.unreached = new Set(all);
		window.unseen = [];
		document.activeElement.blur();
		document.addEventListener("focusin", ({target}) => {
			const style = getComputedStyle(target);
			if (unreached.delete(target) && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2)) unseen.push(target);
		});
		return all.length;
	})()`)
	for range 3 { // a date is many stops
		b.do(chromedp.KeyEvent(strings.Repeat("\t", all+20)))
	}
	left := evaluate[string](b, `[...unreached].map(e => e.outerHTML).join("\n")`)
	if unseen := evaluate[string](b, `unseen.map(e => e.outerHTML).join("\n")`); all == 0 || left != "" || unseen != "" {
		b.t.Errorf("%s has %d things to press or fill in; Tab does not reach:\n%s\nand these do not show the focus:\n%s", name, all, left, unseen)
	}
}
