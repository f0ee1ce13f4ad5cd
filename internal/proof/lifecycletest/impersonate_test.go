package lifecycletest

import (
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// actFor opens a session in which the admin with that token acts for a user.
func actFor(c *e2e.Client, admin, user string) e2e.Answer {
	c.T.Helper()
	return c.Do("POST", "/v1/admin/users/"+user+"/impersonate", `{"reason":"ticket 7"}`, e2e.Bearer(admin))
}

// holderOf is the ID of the user who has that token.
func holderOf(c *e2e.Client, token string) string {
	c.T.Helper()
	return c.Want(c.Do("GET", "/v1/verify", "", e2e.Bearer(token)), 200, "").Header.Get("X-Auth-User-Id")
}

// TestSupportActsForAUser: on every instance, beside the login of the user, who sees it and
// ends it; it changes nothing, and no other right is reached by it.
func TestSupportActsForAUser(t *testing.T) {
	e2e.OnBothStores(t, func(t *testing.T, d *e2e.Deployment) {
		c := e2e.NewClient(t, d.Start(t).Public)
		other := e2e.NewClient(t, d.Start(t).Public)
		root, _ := d.Person(t, c, "root", "admin")
		ada, password := d.Person(t, c, "ada", "user")
		adaID, rootID := holderOf(c, ada), holderOf(c, root)
		before := c.Alive(ada).Fields["session"]

		made := c.Want(actFor(c, root, adaID), 201, "")
		support := made.Field("token")
		for _, at := range []*e2e.Client{other, c} { // the other one has heard of nothing
			me := at.Alive(support)
			if !strings.Contains(string(me.Body), `"act":{"sub":"`+rootID+`"}`) || me.Field("username") != "ada" {
				t.Errorf("me: %s", me.Body)
			}
			if got := at.Want(at.Do("GET", "/v1/verify", "", e2e.Bearer(support)), 200, "").Header.Get("X-Auth-Act"); got != rootID+";"+made.Field("session_id") {
				t.Errorf("verify: %q", got)
			}
		}
		if a := c.Want(c.Post("/v1/introspect", "token="+support, "Authorization", "Bearer "+root), 200, ""); !strings.Contains(string(a.Body), `"act":{"sub":"`+rootID+`"}`) {
			t.Errorf("introspection: %s", a.Body)
		}
		for _, w := range [][3]string{
			{"PUT", "/v1/me/password", e2e.Object("current_password", password, "new_password", e2e.NewPassword())},
			{"POST", "/v1/me/reauthenticate", e2e.Object("password", password)},
			{"POST", "/v1/me/second-factor", e2e.Object("current_password", password)},
			{"POST", "/v1/me/sessions/logout-others", ""},
			{"DELETE", "/v1/me/sessions/" + e2e.IDOf(ada), ""},
			{"POST", "/v1/logout", `{"everywhere":true}`},
		} {
			c.Want(c.Do(w[0], w[1], w[2], e2e.Bearer(support)), 403, "impersonated")
		}
		c.Want(actFor(c, support, adaID), 403, "forbidden")
		c.Want(c.Do("GET", "/v1/admin/users", "", e2e.Bearer(support)), 403, "forbidden")
		c.Want(actFor(c, ada, adaID), 403, "forbidden")
		c.Want(actFor(c, root, rootID), 403, "impersonation_refused")
		if after := c.Alive(ada).Fields["session"]; after.(map[string]any)["id"] != before.(map[string]any)["id"] {
			t.Errorf("the login of the user was %v and is %v", before, after)
		}

		// The user finds it among the own logins, and ends it there.
		mine := c.Want(c.Do("GET", "/v1/me/sessions", "", e2e.Bearer(ada)), 200, "")
		if !strings.Contains(string(mine.Body), `"act":{"sub":"`+rootID+`"}`) || strings.Count(string(mine.Body), `"device"`) != 2 {
			t.Errorf("my logins: %s", mine.Body)
		}
		e2e.Execute(t, d.SQL(t), "UPDATE users SET token_proved_at = 1 WHERE username = 'ada'") // it takes no proof
		c.Want(c.Do("DELETE", "/v1/me/sessions/"+made.Field("session_id"), "", e2e.Bearer(ada)), 204, "")
		c.Dead(support, "token_logged_out")
		e2e.Soon(t, other, support, "token_logged_out", time.Now())
		c.Alive(ada)

		// A second one ends the first, and all end with the right of the admin.
		first := c.Want(actFor(c, root, adaID), 201, "").Field("token")
		second := other.Want(actFor(other, root, adaID), 201, "").Field("token")
		other.Dead(first, "token_replaced")
		c.Alive(second)
		boss, _ := d.Person(t, c, "boss", "admin")
		c.Want(c.Do("PATCH", "/v1/admin/users/"+rootID, `{"disabled":true}`, e2e.Bearer(boss)), 200, "")
		c.Dead(second, "token_revoked")
		e2e.Soon(t, other, second, "token_revoked", time.Now())
		other.Alive(ada)
	})
}

// TestImpersonationIsOffUnlessItIsOn.
func TestImpersonationIsOffUnlessItIsOn(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	c := e2e.NewClient(t, d.Start(t, "FLAKEPASS_IMPERSONATION", "off").Public)
	root, _ := d.Person(t, c, "root", "admin")
	ada, _ := d.Person(t, c, "ada", "user")
	c.Want(actFor(c, root, holderOf(c, ada)), 403, "impersonation_off")
	c.Alive(ada)
}
