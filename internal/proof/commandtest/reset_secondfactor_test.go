package commandtest

import (
	"net/url"
	"regexp"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestAOneTimeLinkIsNoWayAroundTheSecondFactor: it sets a password of the full
// length, keeps the factor, also where admins need one, and a login that had its
// old password checked and waits for the code does not begin.
func TestAOneTimeLinkIsNoWayAroundTheSecondFactor(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t, "FLAKEPASS_SECOND_FACTOR", "admins")
	c := e2e.NewClient(t, i.Public)
	password, next := e2e.NewPassword(), e2e.NewPassword()
	use := func(password string) e2e.Answer {
		t.Helper()
		link := e2e.ResetText.FindString(e2e.Must(t, d.Vars, "", "user", "reset", "ada").Out)
		return c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", link, "new_password", password))
	}
	login := func(code string) e2e.Answer {
		return c.Do("POST", "/v1/login", e2e.Object("username", "ada", "password", next, "code", code))
	}

	// An admin who has none yet is let in by a link, and can do no more than before.
	e2e.Must(t, d.Vars, "", "user", "add", "ada", "--role", "admin", "--invite")
	c.Want(use(password), 204, "")
	token := c.Login("ada", password)
	c.Want(c.Do("GET", "/v1/admin/users", "", e2e.Bearer(token)), 403, "second_factor_missing")
	secret, _ := e2e.EnrolByAPI(t, c, token, password)
	c.Want(c.Do("GET", "/v1/admin/users", "", e2e.Bearer(token)), 200, "")

	_, page := e2e.PostForm(t, "http://"+i.Public+"/console/login", url.Values{"username": {"ada"}, "password": {password}})
	ticket := regexp.MustCompile(`name="ticket" value="([^"]+)"`).FindStringSubmatch(page)
	if ticket == nil {
		t.Fatalf("no ticket:\n%s", page)
	}
	c.Want(use("xk7 Vrtl"), 422, "validation_failed") // enough beside a factor, which a lost one is not
	c.Want(use(next), 204, "")
	c.Dead(token, "token_revoked")
	code := e2e.NextCode(t, secret, 1)
	if status, page := e2e.PostForm(t, "http://"+i.Public+"/console/login/code", url.Values{"ticket": {ticket[1]}, "code": {code}}); status != 401 {
		t.Errorf("with a ticket of the password before: %d\n%s", status, page)
	}
	c.Want(login(""), 401, "second_factor_required")
	c.Want(login("000000"), 401, "second_factor_invalid")
	in := c.Want(login(code), 200, "") // the ticket has not used it up
	c.Want(c.Do("GET", "/v1/admin/users", "", e2e.Bearer(in.Field("token"))), 200, "")
}
