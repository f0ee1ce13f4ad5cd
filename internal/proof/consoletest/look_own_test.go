package consoletest

import (
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// A look is a page in some state, and how to get there.
type look struct {
	name string
	get  func(b *browser)
	old  bool // password and code were shown more than ten minutes ago
}

// ownLooks are the pages about passwords and second factors that change nothing
// for the looks after them.
var ownLooks = []look{
	{name: "account", get: func(b *browser) { b.open("/console/account") }},
	{name: "account-wrong", get: func(b *browser) {
		b.fill("#enrol_password", "not the right passphrase")
		b.press(`button[value="enrol"]`)
	}},
	{name: "account-short", get: func(b *browser) {
		b.open("/console/account")
		b.fill("#current_password", e2e.Passphrase)
		b.fill("#new_password", "short")
		b.press(`button[value="password"]`)
	}},
	{name: "delete-me-asks", old: true, get: func(b *browser) {
		b.open("/console/account")
		b.fill("#delete-name", "ada")
		b.press(`button[value="delete_me"]`)
	}},
	{name: "delete-wrong", get: func(b *browser) {
		b.open("/console/users/1007")
		b.fill("#delete-name", "ada")
		b.press(`form[action$="/delete"] button`)
	}},
	{name: "delete-asks", old: true, get: func(b *browser) {
		b.open("/console/users/1007")
		b.fill("#delete-name", "person00007")
		b.press(`form[action$="/delete"] button`)
	}},
	{name: "reset-asks", old: true, get: func(b *browser) {
		b.open("/console/users/1007")
		b.press(`form[action$="/reset"] button`)
	}},
	{name: "reset-given", get: func(b *browser) {
		b.fill("#confirm_password", e2e.Passphrase)
		b.press(`form[action$="/reset"] button`)
	}},
	{name: "password", get: func(b *browser) { b.open("/console/password") }},
	{name: "password-link", get: func(b *browser) {
		b.open("/console/password?#" + account.NewResetToken().Reveal())
	}},
	{name: "password-wrong", get: func(b *browser) {
		evaluate[bool](b, `(document.querySelector("form[action='/console/password']").noValidate = true)`)
		b.fill("#password", "short")
		b.fill("#password-again", "other")
		b.press(`main button[type="submit"]`)
	}},
}

// lastLooks begin logged out, and leave the admin with a second factor.
var lastLooks = []look{
	{name: "account-enrol-zh", get: func(b *browser) {
		b.login("ada")
		b.open("/console/account")
		b.fill("#enrol_password", e2e.Passphrase)
		b.press(`button[value="enrol"]`)
	}},
	{name: "account-codes-zh", get: func(b *browser) {
		secret := strings.ReplaceAll(evaluate[string](b, `document.getElementById("secret").textContent`), " ", "")
		b.fill("#first_code", e2e.NextCode(b.t, secret, 0))
		b.press(`button[value="confirm"]`)
		b.do(chromedp.WaitVisible(chromedp.CSS(".recovery")))
	}},
	{name: "account-factor-zh", get: func(b *browser) { b.open("/console/account") }},
	{name: "code-zh", get: func(b *browser) {
		b.press(`form[action="/console/logout"] button`)
		b.login("ada")
	}},
	{name: "code-wrong-zh", get: func(b *browser) {
		b.fill("#code", "123")
		b.press(`main button[type="submit"]`)
	}},
}
