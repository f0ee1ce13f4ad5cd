package main

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/testenv"
)

// looks are the pages and states that are looked at, and how to get there.
var looks = []struct {
	name string
	get  func(b *browser)
}{
	{"overview", func(b *browser) { b.open("/console/") }},
	{"overview-week", func(b *browser) { b.open("/console/?span=week"); b.do(chromedp.Click(chromedp.CSS("details summary"))) }},
	{"expiry", func(b *browser) { b.open("/console/expiry") }},
	{"expiry-preview", func(b *browser) {
		b.open("/console/expiry")
		b.fill("#idle", "4d")
		b.sees("% of all.")
	}},
	{"expiry-confirm", func(b *browser) {
		b.open("/console/expiry")
		b.fill("#idle", "4d")
		b.press(`button[value="save"]:not([hidden])`)
	}},
	{"expiry-wrong", func(b *browser) {
		b.open("/console/expiry")
		b.fill("#idle", "soon")
		b.press(`.buttons button[value="preview"]`)
	}},
	{"expiry-conflict", func(b *browser) {
		b.open("/console/expiry")
		evaluate[bool](b, `(document.querySelector("[name=version]").value = "1", true)`)
		b.fill("#idle", "20d")
		b.press(`button[value="save"]:not([hidden])`)
	}},
	{"users", func(b *browser) { b.open("/console/users") }},
	{"users-new", func(b *browser) {
		b.open("/console/users")
		b.do(chromedp.Click(chromedp.CSS("details summary")))
		b.fill("#username", "x")
		evaluate[bool](b, `(document.querySelector("details form").noValidate = true)`)
		b.fill("#password", "short")
		b.press("details form button")
	}},
	{"users-none", func(b *browser) { b.open("/console/users?name=zz") }},
	{"user", func(b *browser) { b.open("/console/users/1005") }},
	{"user-disabled", func(b *browser) {
		b.open("/console/users/1006")
		if evaluate[bool](b, `!!document.querySelector("button[value=disabled]")`) {
			b.press("button[value=disabled]")
		}
	}},
	{"logins", func(b *browser) { b.open("/console/logins") }},
	{"logins-everybody", func(b *browser) {
		b.open("/console/logins")
		b.do(chromedp.Click(chromedp.CSS("details summary")))
		b.fill("#phrase", "yes")
		b.fill("#confirm_password", "x")
		b.press("details form button")
	}},
	{"audit", func(b *browser) { b.open("/console/audit") }},
	{"audit-empty", func(b *browser) { b.open("/console/audit?action=user.created") }},
	{"audit-wrong", func(b *browser) { b.open("/console/audit?actor=x") }},
	{"missing", func(b *browser) { b.open("/console/nothing") }},
}

// outside are the pages before a login.
var outside = []struct {
	name string
	get  func(b *browser)
}{
	{"login", func(b *browser) { b.open("/console/login") }},
	{"login-why", func(b *browser) { b.open("/console/login?why=token_idle_timeout") }},
	{"login-wrong", func(b *browser) {
		b.open("/console/login")
		b.fill("#username", "ada")
		b.fill("#password", "not the right passphrase")
		b.press(`main button[type="submit"]`)
	}},
	{"setup-wrong", func(b *browser) {
		b.fill("#username", "x")
		evaluate[bool](b, `(document.querySelector("form").noValidate = true)`)
		b.fill("#password", "short")
		b.press(`main button[type="submit"]`)
	}},
}

// lookAround calls f with every page in every state.
func lookAround(t *testing.T, f func(b *browser, name string)) {
	t.Helper()
	d := onSQLite(t)
	i := d.start(t)
	b := newBrowser(t, i)
	b.open(setupLink.FindString(i.out.String()))
	f(b, "setup")
	for _, look := range outside {
		if look.name == "setup-wrong" {
			b.open(setupLink.FindString(i.out.String()))
		}
		look.get(b)
		f(b, look.name)
	}
	newAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 3000)
	busy(t, d)
	b.open("/console/expiry")
	b.login("ada")
	b.fill("#idle", "20d")
	b.fill("#note", "People come back after their holidays")
	b.press(`button[value="save"]:not([hidden])`)
	b.sees("Saved.")
	for _, look := range looks {
		look.get(b)
		f(b, look.name)
	}
}

// axe-core finds nothing on any page, in light and in dark, and no page is wider
// than the screen, from a small phone up. The pictures are for people:
// bin/console has each page in light, in dark, and on a phone.
func TestConsoleIsForEverybody(t *testing.T) {
	axe := testenv.Axe(t)
	lookAround(t, func(b *browser, name string) {
		for _, look := range []struct {
			name, scheme string
			width        int64
		}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"phone", "light", 360}, {"phone-dark", "dark", 360}} {
			b.scheme(look.scheme)
			b.do(chromedp.EmulateViewport(look.width, 800))
			if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > look.width {
				t.Errorf("%s is %d wide on a screen of %d", name, wide, look.width)
			}
			if look.name != "phone" {
				b.judge(axe, name+", "+look.name)
			}
			b.shoot(name + "-" + look.name)
		}
		b.scheme("light")
		b.do(chromedp.EmulateViewport(1280, 800))
	})
}

// judge asks axe-core about the page, by WCAG 2.2 AA and its best practices.
func (b *browser) judge(axe, name string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](axe))
	found := evaluate[string](b, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
		.then(r => JSON.stringify({passes: r.passes.length, violations: r.violations.map(
			v => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map(n => n.html + " " + n.failureSummary)}))}))`)
	var result struct {
		Passes     int
		Violations []struct {
			ID, Impact, Help string
			Nodes            []string
		}
	}
	if err := json.Unmarshal([]byte(found), &result); err != nil || result.Passes == 0 {
		b.t.Fatalf("%s: axe-core looked at nothing: %v, %s", name, err, found)
	}
	for _, v := range result.Violations {
		b.t.Errorf("%s: %s (%s): %s\n%s", name, v.ID, v.Impact, v.Help, v.Nodes)
	}
}
