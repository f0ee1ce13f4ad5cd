package main

import (
	"net/url"
	"regexp"
	"testing"
)

// TestAOneTimeLinkIsNoWayAroundTheSecondFactor: it sets a password of the full
// length, keeps the factor, also where admins need one, and a login that had its
// old password checked and waits for the code does not begin.
func TestAOneTimeLinkIsNoWayAroundTheSecondFactor(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	i := d.start(t, "FLAKEPASS_SECOND_FACTOR", "admins")
	c := newClient(t, i.public)
	password, next := newPassword(), newPassword()
	use := func(password string) answer {
		t.Helper()
		link := resetText.FindString(must(t, d.vars, "", "user", "reset", "ada").out)
		return c.do("POST", "/v1/password-resets", object("reset_token", link, "new_password", password))
	}
	login := func(code string) answer {
		return c.do("POST", "/v1/login", object("username", "ada", "password", next, "code", code))
	}

	// An admin who has none yet is let in by a link, and can do no more than before.
	must(t, d.vars, "", "user", "add", "ada", "--role", "admin", "--invite")
	c.want(use(password), 204, "")
	token := c.login("ada", password)
	c.want(c.do("GET", "/v1/admin/users", "", bearer(token)), 403, "second_factor_missing")
	secret, _ := enrolByAPI(t, c, token, password)
	c.want(c.do("GET", "/v1/admin/users", "", bearer(token)), 200, "")

	_, page := postForm(t, "http://"+i.public+"/console/login", url.Values{"username": {"ada"}, "password": {password}})
	ticket := regexp.MustCompile(`name="ticket" value="([^"]+)"`).FindStringSubmatch(page)
	if ticket == nil {
		t.Fatalf("no ticket:\n%s", page)
	}
	c.want(use("xk7 Vrtl"), 422, "validation_failed") // enough beside a factor, which a lost one is not
	c.want(use(next), 204, "")
	c.dead(token, "token_revoked")
	code := nextCode(t, secret, 1)
	if status, page := postForm(t, "http://"+i.public+"/console/login/code", url.Values{"ticket": {ticket[1]}, "code": {code}}); status != 401 {
		t.Errorf("with a ticket of the password before: %d\n%s", status, page)
	}
	c.want(login(""), 401, "second_factor_required")
	c.want(login("000000"), 401, "second_factor_invalid")
	in := c.want(login(code), 200, "") // the ticket has not used it up
	c.want(c.do("GET", "/v1/admin/users", "", bearer(in.field("token"))), 200, "")
}
