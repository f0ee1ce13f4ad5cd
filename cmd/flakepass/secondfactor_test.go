package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/run"
)

// enrolByAPI gives a user a second factor, and returns its secret, whose code of
// now is used up, and its recovery codes.
func enrolByAPI(t testing.TB, c *client, token, password string) (secret string, codes []any) {
	t.Helper()
	begun := c.do("POST", "/v1/me/second-factor", object("current_password", password), bearer(token))
	c.want(begun, 201, "")
	secret = begun.field("secret")
	done := c.do("POST", "/v1/me/second-factor/confirm", object("code", nextCode(t, secret, 0)), bearer(token))
	c.want(done, 200, "")
	codes, _ = done.fields["recovery_codes"].([]any)
	return secret, codes
}

// TestAnAdminGetsBackWhoLostTheSecondFactor: the removal ends the login and is in
// the record; a password that was too short to stand alone opens nothing until an
// admin has set another.
func TestAnAdminGetsBackWhoLostTheSecondFactor(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(testing.TB) *deployment{"SQLite": onSQLite, "MySQL": onMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			d.vars["FLAKEPASS_SECOND_FACTOR_KEY"] = strings.Repeat("5a", 32)
			i := d.start(t)
			c := newClient(t, i.public)
			password := newPassword()
			const short = "xk7 Vrtl"
			c.want(c.register("alice", password), 201, "")
			token := c.login("alice", password)
			secret, codes := enrolByAPI(t, c, token, password)
			c.want(c.do("PUT", "/v1/me/password", object("current_password", password, "new_password", short, "code", nextCode(t, secret, 1)), bearer(token)), 204, "")
			again := c.do("POST", "/v1/login", object("username", "alice", "password", short, "code", codes[0].(string)))
			c.want(again, 200, "")
			token = again.field("token")

			out := must(t, d.vars, "", "user", "second-factor", "remove", "alice", "--reason", "lost phone").out
			if !strings.Contains(out, `second factor of "alice" removed`) || !strings.Contains(out, "ended") {
				t.Errorf("the command says %q", out)
			}
			if out := must(t, d.vars, "", "user", "second-factor", "remove", "alice").out; !strings.Contains(out, "has no second factor") {
				t.Errorf("the second time it says %q", out)
			}
			testenv.Eventually(t, patience, func() bool { return c.do("GET", "/v1/me", "", bearer(token)).status == 401 }, "the login has ended")
			c.want(c.do("POST", "/v1/login", object("username", "alice", "password", short)), 403, "password_reset_required")
			c.want(c.do("POST", "/v1/login", object("username", "alice", "password", password)), 401, "credentials_invalid")
			must(t, d.vars, password+"\n", "user", "passwd", "alice", "--password-stdin")
			c.login("alice", password)

			record := must(t, d.vars, "", "audit", "--limit", "50").out
			for _, action := range []string{"user.second_factor_enrolled", "user.recovery_code_used", "user.second_factor_removed", "lost phone"} {
				if !strings.Contains(record, action) {
					t.Errorf("the record lacks %s:\n%s", action, record)
				}
			}
		})
	}
}

// Without a key on MySQL nobody can enrol, and the answer says what to set. With
// the key taken away, whoever has a factor does not get in without it.
func TestWithoutAKeyNobodyEnrolsAndNobodyGetsPastAFactor(t *testing.T) { //nolint:tparallel // what is in the subtest comes first
	t.Parallel()
	d := onMySQLAlone(t)
	key := []string{"FLAKEPASS_SECOND_FACTOR_KEY", strings.Repeat("5a", 32)}
	password := newPassword()
	var secret string
	var codes []any
	t.Run("with it", func(t *testing.T) {
		c := newClient(t, d.start(t, key...).public)
		c.want(c.register("alice", password), 201, "")
		secret, codes = enrolByAPI(t, c, c.login("alice", password), password)
	})
	c := newClient(t, d.startLoud(t).public)
	c.want(c.do("POST", "/v1/login", object("username", "alice", "password", password)), 401, "second_factor_required")
	c.want(c.do("POST", "/v1/login", object("username", "alice", "password", password, "code", nextCode(t, secret, 1))), 503, "unavailable")
	c.want(c.do("POST", "/v1/login", object("username", "alice", "password", password, "code", codes[0].(string))), 200, "")
	c.want(c.register("bob", password), 201, "")
	off := c.do("POST", "/v1/me/second-factor", object("current_password", password), bearer(c.login("bob", password)))
	c.want(off, 403, "second_factor_off")
	if !strings.Contains(string(off.body), "FLAKEPASS_SECOND_FACTOR_KEY") {
		t.Errorf("%s does not say what to set", off.body)
	}
}

// A lost key file is told at the start, not to the next person who logs in.
func TestAMissingKeyFileStopsTheStart(t *testing.T) { //nolint:tparallel // what is in the subtest comes first
	t.Parallel()
	d := onSQLite(t)
	password := newPassword()
	t.Run("before", func(t *testing.T) {
		c := newClient(t, d.start(t).public)
		c.want(c.register("alice", password), 201, "")
		enrolByAPI(t, c, c.login("alice", password), password)
	})
	if err := os.Remove(filepath.Join(d.vars["FLAKEPASS_DATA_DIR"], "second-factor.key")); err != nil {
		t.Fatal(err)
	}
	err := run.Serve(context.Background(), d.config(t), &bytes.Buffer{}, &bytes.Buffer{}, nil)
	if err == nil || !strings.Contains(err.Error(), "restore the file, or set FLAKEPASS_SECOND_FACTOR_KEY") {
		t.Errorf("serve = %v", err)
	}
}

// An admin adds a second factor, logs in with it, uses it to confirm, and removes
// it; nobody sees more than that on the way.
func TestConsoleSecondFactor(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	i := d.start(t, "FLAKEPASS_SECOND_FACTOR", "admins")
	newAdmin(t, d, "ada", account.RoleAdmin)
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
	b.fill("#enrol_password", passphrase)
	b.press(`button[value="enrol"]`)
	b.sees("Read this with your authenticator app.")
	if w := evaluate[float64](b, `document.querySelector("svg.qr").getBoundingClientRect().width`); w < 100 {
		t.Errorf("the QR code is %v pixels wide", w)
	}
	secret := strings.ReplaceAll(evaluate[string](b, `document.getElementById("secret").textContent`), " ", "")
	b.fill("#first_code", "000 000 0")
	b.press(`button[value="confirm"]`)
	b.sees("The code is not valid.")
	b.fill("#first_code", nextCode(t, secret, 0))
	b.press(`button[value="confirm"]`)
	b.sees("Your recovery codes")
	recovery := regexp.MustCompile(`(?:[0-9A-Z]{4}-){5}[0-9A-Z]{4}`).FindAllString(b.text(), -1)
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes are shown", len(recovery))
	}
	b.press(`main a.button`)
	b.sees("A login needs a code of your authenticator app")

	// Once more from outside, in two steps.
	b.press(`form[action="/console/logout"] button`)
	b.open("/console/users")
	b.login("ada")
	b.sees("This account has a second factor.")
	if has := evaluate[bool](b, `document.documentElement.outerHTML.includes("`+passphrase+`")`); has {
		t.Error("the passphrase is in the page")
	}
	b.fill("#code", "123")
	b.press(`main button[type="submit"]`)
	b.sees("The code is not valid.")
	b.fill("#code", nextCode(t, secret, 1))
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
	b.fill("#confirm_password", passphrase)
	b.fill("#confirm_code", "123")
	b.press(`details form button`)
	b.sees("The code is not valid.")
	b.fill("#password", "another long passphrase here")
	b.fill("#confirm_password", passphrase)
	b.fill("#confirm_code", strings.ToLower(recovery[0]))
	b.press(`details form button`)
	b.sees("The user is created.")

	b.open("/console/account")
	b.sees("You have 9 recovery codes.")
	b.fill("#remove_password", passphrase)
	b.fill("#remove_code", recovery[1])
	b.press(`button[value="renew"]`)
	b.do(chromedp.WaitVisible(chromedp.CSS(".recovery")))
	used := recovery[2]
	recovery = evaluate[[]string](b, `[...document.querySelectorAll(".recovery code")].map(e => e.textContent)`)
	b.open("/console/account")
	b.sees("You have 10 recovery codes.")
	b.fill("#remove_password", passphrase)
	b.fill("#remove_code", used)
	b.press(`button[value="renew"]`)
	b.sees("The code is not valid")

	b.fill("#current_password", passphrase)
	b.fill("#new_password", "xk7 Vrt")
	b.fill("#password_code", recovery[1])
	b.press(`button[value="password"]`)
	b.sees("Passphrase must have at least 8 characters")
	b.fill("#current_password", passphrase)
	b.fill("#new_password", "xk7 Vrtl")
	b.fill("#password_code", recovery[1])
	b.press(`button[value="password"]`)
	b.sees("The passphrase is changed.")
	if n := count(t, d.sql(t), "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); n != 0 {
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
	b.sees("Your passphrase is too short to stand alone.")
}
