package main

import (
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/account"
)

// A look is a page in some state, and how to get there.
type look struct {
	name string
	get  func(b *browser)
}

// ownLooks are the pages about passwords and second factors that change nothing
// for the looks after them.
var ownLooks = []look{
	{"account", func(b *browser) { b.open("/console/account") }},
	{"account-wrong", func(b *browser) {
		b.fill("#enrol_password", "not the right passphrase")
		b.press(`button[value="enrol"]`)
	}},
	{"account-short", func(b *browser) {
		b.open("/console/account")
		b.fill("#current_password", passphrase)
		b.fill("#new_password", "short")
		b.press(`button[value="password"]`)
	}},
	{"reset-given", func(b *browser) {
		b.open("/console/users/1007")
		b.fill("#give-confirm", passphrase)
		b.press(`form[action$="/reset"] button`)
	}},
	{"password", func(b *browser) { b.open("/console/password") }},
	{"password-link", func(b *browser) {
		b.open("/console/password?#" + account.NewResetToken().Reveal())
	}},
	{"password-wrong", func(b *browser) {
		evaluate[bool](b, `(document.querySelector("form[action='/console/password']").noValidate = true)`)
		b.fill("#password", "short")
		b.fill("#password-again", "other")
		b.press(`main button[type="submit"]`)
	}},
}

// lastLooks begin logged out, and leave the admin with a second factor.
var lastLooks = []look{
	{"account-enrol-zh", func(b *browser) {
		b.login("ada")
		b.open("/console/account")
		b.fill("#enrol_password", passphrase)
		b.press(`button[value="enrol"]`)
	}},
	{"account-codes-zh", func(b *browser) {
		secret := strings.ReplaceAll(evaluate[string](b, `document.getElementById("secret").textContent`), " ", "")
		b.fill("#first_code", nextCode(b.t, secret, 0))
		b.press(`button[value="confirm"]`)
		b.do(chromedp.WaitVisible(chromedp.CSS(".recovery")))
	}},
	{"account-factor-zh", func(b *browser) { b.open("/console/account") }},
	{"code-zh", func(b *browser) {
		b.press(`form[action="/console/logout"] button`)
		b.login("ada")
	}},
	{"code-wrong-zh", func(b *browser) {
		b.fill("#code", "123")
		b.press(`main button[type="submit"]`)
	}},
}
