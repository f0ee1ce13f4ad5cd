package consoletest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// An admin adds a second factor, logs in with it, uses it to confirm, and removes
// it; no request sees more than that on the way.
func TestConsoleSecondFactor(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t, "FLAKEPASS_SECOND_FACTOR", "admins")
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	b := newBrowser(t, i)
	b.open("/console/users")
	b.login("ada")
	if b.path() != "/console/account" {
		t.Fatalf("an admin without a second factor is led to %s", b.path())
	}
	b.sees("Admins of this server need a second factor.")
	b.open("/console/audit")
	if b.path() != "/console/account" {
		t.Fatalf("an admin without a second factor gets to %s", b.path())
	}
	b.fill("#enrol_password", "not the right passphrase")
	b.press(`button[value="enrol"]`)
	b.sees("The passphrase is wrong.")
	b.fill("#enrol_password", e2e.Passphrase)
	b.press(`button[value="enrol"]`)
	b.sees("Read this with your authenticator app.")
	if w := evaluate[float64](b, `document.querySelector("svg.qr").getBoundingClientRect().width`); w < 100 {
		t.Errorf("the QR code is %v pixels wide", w)
	}
	secret := strings.ReplaceAll(evaluate[string](b, `document.getElementById("secret").textContent`), " ", "")
	b.fill("#first_code", "000 000 0")
	b.press(`button[value="confirm"]`)
	b.sees("The code is not valid.")
	b.fill("#first_code", e2e.NextCode(t, secret, 0))
	b.press(`button[value="confirm"]`)
	b.sees("Your recovery codes")
	recovery := regexp.MustCompile(`(?:[0-9A-Z]{4}-){5}[0-9A-Z]{4}`).FindAllString(b.text(), -1)
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes are shown", len(recovery))
	}
	b.press(`main a.button`)
	b.sees("A login needs the passphrase and a code")

	// Once more from outside, in two steps.
	b.press(`form[action="/console/logout"] button`)
	b.open("/console/users")
	b.login("ada")
	b.sees("This account has a second factor.")
	if has := evaluate[bool](b, `document.documentElement.outerHTML.includes("`+e2e.Passphrase+`")`); has {
		t.Error("the passphrase is in the page")
	}
	b.fill("#code", "123")
	b.press(`main button[type="submit"]`)
	b.sees("The code is not valid.")
	b.fill("#code", e2e.NextCode(t, secret, 1))
	b.press(`main button[type="submit"]`)
	if b.path() != "/console/users" {
		t.Fatalf("the login leads to %s", b.path())
	}

	// What gives rights asks for both once more, ten minutes after the login.
	unprove(t, d)
	b.do(chromedp.Click(chromedp.CSS("details summary")))
	b.fill("#username", "grace")
	b.fill("#password", "another long passphrase here")
	b.do(chromedp.SetValue(chromedp.CSS("#new-role, #role"), "admin"))
	b.press(`details form button`)
	b.sees("Nothing was done yet.")
	b.fill("#password", "another long passphrase here")
	b.fill("#confirm_password", e2e.Passphrase)
	b.fill("#confirm_code", "123")
	b.press(`details form button`)
	b.sees("The code is not valid.")
	b.fill("#password", "another long passphrase here")
	b.fill("#confirm_password", e2e.Passphrase)
	b.fill("#confirm_code", strings.ToLower(recovery[0]))
	b.press(`details form button`)
	b.sees("The user is created.")

	b.open("/console/account")
	b.sees("You have 9 recovery codes.")
	b.fill("#remove_password", e2e.Passphrase)
	b.fill("#remove_code", recovery[1])
	b.press(`button[value="renew"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(".recovery")))
	used := recovery[2]
	recovery = evaluate[[]string](b, `[...document.querySelectorAll(".recovery code")].map(e => e.textContent)`)
	b.open("/console/account")
	b.sees("You have 10 recovery codes.")
	b.fill("#remove_password", e2e.Passphrase)
	b.fill("#remove_code", used)
	b.press(`button[value="renew"]`)
	b.sees("The code is not valid")

	b.fill("#current_password", e2e.Passphrase)
	b.fill("#new_password", "xk7 Vrt")
	b.fill("#password_code", recovery[1])
	b.press(`button[value="password"]`)
	b.sees("Passphrase must have at least 8 characters")
	b.fill("#current_password", e2e.Passphrase)
	b.fill("#new_password", "xk7 Vrtl")
	b.fill("#password_code", recovery[1])
	b.press(`button[value="password"]`)
	b.sees("The passphrase is changed.")
	if n := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); n != 0 {
		t.Errorf("%d logins are left after the change", n)
	}
	b.fill("#username", "ada")
	b.fill("#password", "xk7 Vrtl")
	b.press(`main button[type="submit"]`)
	b.fill("#code", recovery[2])
	b.press(`main button[type="submit"]`)
	b.open("/console/account")
	b.fill("#remove_password", "xk7 Vrtl")
	b.fill("#remove_code", recovery[3])
	b.press(`button[value="remove"]`)
	b.sees("Your passphrase is too short without a second factor.")
}
