package consoletest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// looks are the pages and states that are looked at, and how to get there.
var looks = []look{
	{name: "overview", get: func(b *browser) { b.open("/console/") }},
	{name: "overview-week", get: func(b *browser) { b.open("/console/?span=week"); b.do(chromedp.Click(chromedp.CSS("details summary"))) }},
	{name: "expiry", get: func(b *browser) { b.open("/console/expiry") }},
	{name: "expiry-preview", get: func(b *browser) {
		b.open("/console/expiry")
		b.fill("#idle", "4d")
		b.sees("% of all.")
	}},
	{name: "expiry-confirm", get: func(b *browser) {
		b.open("/console/expiry")
		b.preview("#idle", "4d")
		b.press(`button[value="save"]:not([hidden])`)
	}},
	{name: "expiry-wrong", get: func(b *browser) {
		b.open("/console/expiry")
		b.fill("#idle", "soon")
		b.press(`.buttons button[value="preview"]`)
	}},
	{name: "expiry-conflict", get: func(b *browser) {
		b.open("/console/expiry")
		evaluate[bool](b, `(document.querySelector("[name=version]").value = "1", true)`)
		b.preview("#idle", "25d")
		b.press(`button[value="save"]:not([hidden])`)
	}},
	{name: "users", get: func(b *browser) { b.open("/console/users") }},
	{name: "users-new", get: func(b *browser) {
		b.open("/console/users")
		b.do(chromedp.Click(chromedp.CSS("details summary")))
		b.fill("#username", "x")
		evaluate[bool](b, `(document.querySelector("details form").noValidate = true)`)
		b.fill("#password", "short")
		b.press("details form button")
	}},
	{name: "users-new-link", get: func(b *browser) {
		b.open("/console/users")
		b.do(chromedp.Click(chromedp.CSS("details summary")), chromedp.Click(chromedp.CSS("#by-link")))
	}},
	{name: "users-asks", old: true, get: func(b *browser) {
		b.fill("#username", "invited.person")
		b.press("details form button")
	}},
	{name: "users-invited", get: func(b *browser) {
		b.fill("#confirm_password", e2e.Passphrase)
		b.press("details form button")
	}},
	{name: "user-links", get: func(b *browser) {
		b.open("/console/users?name=ada")
		b.press(`td a[href^="/console/users/"]`)
		b.sees("Open links made by this person", "invited.person")
	}},
	{name: "users-none", get: func(b *browser) { b.open("/console/users?name=zz") }},
	{name: "user", get: func(b *browser) { b.open("/console/users/1005") }},
	{name: "user-disabled", get: func(b *browser) {
		b.open("/console/users/1006")
		if evaluate[bool](b, `!!document.querySelector("button[value=disabled]")`) {
			b.press("button[value=disabled]")
		}
	}},
	{name: "logins", get: func(b *browser) { b.open("/console/logins") }},
	{name: "logins-everybody", get: func(b *browser) {
		b.open("/console/logins")
		b.do(chromedp.Click(chromedp.CSS("details summary")))
		b.fill("#phrase", "yes")
		b.press("details form button")
	}},
	{name: "logins-asks", old: true, get: func(b *browser) {
		b.fill("#phrase", "log everybody out")
		b.press("details form button")
	}},
	{name: "audit", get: func(b *browser) { b.open("/console/audit") }},
	{name: "audit-empty", get: func(b *browser) { b.open("/console/audit?action=user.created") }},
	{name: "audit-wrong", get: func(b *browser) { b.open("/console/audit?actor=x") }},
	{name: "missing", get: func(b *browser) { b.open("/console/nothing") }},
	{name: "user-long", get: func(b *browser) { b.open("/console/users/5001") }},
	{name: "user-rtl", get: func(b *browser) { b.open("/console/users/5002") }},
	{name: "user-key-asks", old: true, get: func(b *browser) {
		b.open("/console/users/5001")
		b.fill("#key-name", strings.Repeat("W", 64))
		b.do(chromedp.Click(chromedp.CSS(`[name="scope_verify"]`)))
		b.press(`form[action$="/keys"] button`)
	}},
	{name: "user-key-made", get: func(b *browser) {
		b.fill("#confirm_password", e2e.Passphrase)
		b.press(`form[action$="/keys"] button`)
		b.sees("It is shown only now")
	}},
	{name: "audit-odd", get: func(b *browser) { b.open("/console/audit?target=5001") }},
	{name: "users-page", get: func(b *browser) { b.open("/console/users?name=person&after=1100") }},
	{name: "overview-zh", get: func(b *browser) {
		b.open("/console/")
		b.press(`form[action="/console/language"] button`)
	}},
	{name: "expiry-zh", get: func(b *browser) { b.open("/console/expiry") }},
	{name: "expiry-confirm-zh", get: func(b *browser) {
		b.open("/console/expiry")
		b.preview("#idle", "4d")
		b.press(`button[value="save"]:not([hidden])`)
	}},
	{name: "limits-zh", get: func(b *browser) { b.open("/console/limits") }},
	{name: "limits-wrong-zh", get: wrongLimits},
	{name: "users-new-zh", get: func(b *browser) {
		b.open("/console/users")
		b.do(chromedp.Click(chromedp.CSS("details summary")), chromedp.Click(chromedp.CSS("#by-link")))
	}},
	{name: "users-zh", get: func(b *browser) { b.open("/console/users") }},
	{name: "user-zh", get: func(b *browser) { b.open("/console/users/1005") }},
	{name: "user-links-zh", get: func(b *browser) {
		b.open("/console/users?name=ada")
		b.press(`td a[href^="/console/users/"]`)
	}},
	{name: "user-keys-zh", get: func(b *browser) { b.open("/console/users/5001") }},
	{name: "logins-zh", get: func(b *browser) { b.open("/console/logins") }},
	{name: "audit-zh", get: func(b *browser) { b.open("/console/audit") }},
	{name: "login-zh", get: func(b *browser) {
		b.press(`form[action="/console/logout"] button`)
	}},
}

// outside are the pages before a login.
var outside = []look{
	{name: "login", get: func(b *browser) { b.open("/console/login") }},
	{name: "login-lost", get: func(b *browser) { b.open("/console/login?why=token_revoked&lost=") }},
	{name: "login-cookie", get: func(b *browser) { b.open("/console/login?kept=") }},
	{name: "login-why", get: func(b *browser) { b.open("/console/login?why=token_idle_timeout") }},
	{name: "login-wrong", get: func(b *browser) {
		b.open("/console/login")
		b.fill("#username", "ada")
		b.fill("#password", "not the right passphrase")
		b.press(`main button[type="submit"]`)
	}},
	{name: "setup-wrong", get: func(b *browser) {
		b.fill("#username", "x")
		evaluate[bool](b, `(document.querySelector("form").noValidate = true)`)
		b.fill("#password", "short")
		b.press(`main button[type="submit"]`)
	}},
}

// odd gives it what is unlike the rest: names as long as they may be, or written
// from right to left, and a reason without an end.
func odd(t testing.TB, d *e2e.Deployment) {
	t.Helper()
	db, now := d.SQL(t), time.Now()
	for id, name := range map[int]string{5001: strings.Repeat("wm", 32), 5002: "משתמש.ארוך", 5003: "0"} {
		e2e.Execute(t, db, "INSERT INTO users (id, username, password_hash, role, created_at, updated_at) VALUES (?, ?, '', 'service', ?, ?)",
			id, name, now.UnixMilli(), now.UnixMilli())
		e2e.Execute(t, db, "INSERT INTO audit_events (id, actor_id, actor, via, action, target_kind, target_id, target, reason, old_value, new_value) VALUES (?, ?, ?, 'api', 'user.created', 'user', 5001, ?, ?, ?, ?)",
			int64(idworker.Default().Smallest(now.Add(-time.Hour)))+int64(id), id, name, strings.Repeat("wm", 32), strings.Repeat("without-a-blank-", id-5000)+strings.Repeat("and with blanks ", 20),
			[]byte("null"), []byte(`{"role":"service"}`))
	}
	for id, key := range map[int][2]string{6001: {strings.Repeat("wm", 32), "verify revoke"}, 6002: {"מפתח ישן", "verify"}} {
		e2e.Execute(t, db, "INSERT INTO service_keys (id, user_id, name, hash, scopes, created_by, revoked_at) VALUES (?, 5001, ?, x'78', ?, 0, ?)", id, key[0], key[1], map[int]any{6001: nil, 6002: now.UnixMilli()}[id])
	}
	// The newest logins are on devices with names of the same kind, and with mark-up.
	devices := [][2]string{{"phone", strings.Repeat("W", 64)}, {"tablet", "הטאבלט של דנה"}, {"tv", "<b onclick=alert(1)>客厅电视</b>"}, {"desktop", ""}, {"web", "flakepass console"}, {"watch", "of a newer release"}}
	for i, device := range devices {
		e2e.Execute(t, db, "UPDATE users SET device_token_id = token_id, device_class = ?, device_name = ? WHERE id = ?", device[0], device[1], 1000+i)
	}
}

// lookAround calls f with every page in every state.
func lookAround(t *testing.T, f func(b *browser, name string)) {
	t.Helper()
	d := e2e.OnSQLite(t)
	i := d.Start(t, "FLAKEPASS_SELF_DELETION", "on")
	b := newBrowser(t, i)
	b.open(e2e.SetupLink.FindString(i.Out.String()))
	f(b, "setup")
	for _, look := range outside {
		if look.name == "setup-wrong" {
			b.open(e2e.SetupLink.FindString(i.Out.String()))
		}
		look.get(b)
		f(b, look.name)
	}
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 3000)
	busy(t, d)
	odd(t, d)
	b.open(e2e.SetupLink.FindString(i.Out.String()))
	f(b, "setup-used")
	b.open("/console/expiry")
	b.login("ada")
	b.fill("#idle", "20d")
	b.fill("#note", "People come back after their holidays")
	b.press(`button[value="save"]:not([hidden])`)
	b.sees("Saved.")
	for _, list := range [][]look{ownLooks, policyLooks, looks, lastLooks} {
		for _, look := range list {
			if look.old {
				unprove(t, d)
			}
			look.get(b)
			if look.old {
				b.sees("Nothing was done yet.")
			}
			f(b, look.name)
		}
	}
}

// axe-core finds nothing on any page, in light and in dark, in English and in
// Chinese, and no page is wider than the screen, from one of 320 up, which is what
// 400 % of zoom leaves of one of 1280 (WCAG 2.2, 1.4.10). No page makes more than
// 5 requests or 150 kB. The pictures are for people who set FLAKEPASS_TEST_PICTURES:
// bin/console then has each page in light, in dark, and on a phone.
func TestConsoleIsForEverybody(t *testing.T) {
	t.Parallel()
	testenv.Axe(t)
	lookAround(t, func(b *browser, name string) {
		b.weigh(name)
		b.portraits(name)
	})
}

// portraits looks at the page in light and dark, wide and narrow.
func (b *browser) portraits(name string) {
	b.t.Helper()
	for _, look := range []struct {
		name, scheme string
		width        int64
		judged       bool
	}{{"light", "light", 1280, true}, {"dark", "dark", 1280, true}, {"phone", "light", 320, false}, {"phone-dark", "dark", 320, true}} {
		if strings.HasSuffix(name, "-zh") && look.scheme == "dark" {
			continue // other words do not change the colours
		}
		b.scheme(look.scheme)
		b.do(chromedp.EmulateViewport(look.width, 800))
		if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > look.width {
			b.t.Errorf("%s is %d wide on a screen of %d: %s", name, wide, look.width, evaluate[string](b, widest))
		}
		switch {
		case look.name == "dark": // the light page with other colours
			b.judgeBy(testenv.Axe(b.t), name+", "+look.name, colours)
		case look.judged:
			b.judge(testenv.Axe(b.t), name+", "+look.name)
		}
		if look.name != "phone-dark" { // the other three show enough
			b.shoot(name + "-" + look.name)
		}
	}
	b.scheme("light")
	b.do(chromedp.EmulateViewport(1280, 800))
}

// widest names what reaches farthest to the right.
const widest = `[...document.querySelectorAll("main *, header *")].sort((a, b) => b.getBoundingClientRect().right - a.getBoundingClientRect().right)
	.slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join(" | ")`

// weigh counts what the page asked for, as the browser did. A browser without a
// screen may leave out the icon, which is then added. A preview is no part of
// the page.
func (b *browser) weigh(name string) {
	b.t.Helper()
	var loaded struct{ Requests, Bytes int }
	text := evaluate[string](b, `(() => {
		const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
			.filter(e => e.initiatorType !== "xmlhttprequest");
		const icon = all.some(e => e.name.includes("/mark.svg")) ? 0 : 1;
		return JSON.stringify({requests: all.length + icon, bytes: all.reduce((sum, e) => sum + Math.max(e.transferSize, e.encodedBodySize), 0)});
	})()`)
	if err := json.Unmarshal([]byte(text), &loaded); err != nil || loaded.Bytes == 0 {
		b.t.Fatalf("%s: %v, %s", name, err, text)
	}
	if loaded.Requests > 5 || loaded.Bytes > 149_000 {
		b.t.Errorf("%s: %d requests and %d bytes, want at most 5 and 150 kB", name, loaded.Requests, loaded.Bytes)
	}
	b.t.Logf("%s: %d requests, %d bytes", name, loaded.Requests, loaded.Bytes)
}

// What axe-core judges by: WCAG 2.2 AA and its best practices, and of these what
// colours can break.
const (
	everything = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
	colours    = `{type: "rule", values: ["color-contrast", "link-in-text-block"]}`
)

// judge asks axe-core about everything on the page.
func (b *browser) judge(axe, name string) { b.t.Helper(); b.judgeBy(axe, name, everything) }

func (b *browser) judgeBy(axe, name, rules string) {
	b.t.Helper()
	if !evaluate[bool](b, `"axe" in window`) { // once for each page: it is half a megabyte
		b.do(chromedp.Evaluate[chromedp.Void](axe))
	}
	// Of what passes one element for each rule: to name all of them takes longer than to judge them.
	found := evaluate[string](b, "axe.run(document, {resultTypes: ['violations'], runOnly: "+rules+`})
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
