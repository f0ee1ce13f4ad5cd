//go:build unix

package lifecycletest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestDeletedUserIsOutOnEveryProcess: what an operator deletes on one process, no token, no
// password, no link and no key of any other opens; and another ID or another name deletes nobody.
func TestDeletedUserIsOutOnEveryProcess(t *testing.T) {
	e2e.OnBothStores(t, func(t *testing.T, d *e2e.Deployment) {
		a, b := d.Start(t), d.Start(t)
		here, there := e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public)
		root, _ := d.Person(t, here, "root", "admin")
		user, password := d.Person(t, here, "ada", "user")
		service, servicePassword := d.Person(t, here, "billing", "service")
		others, _ := d.Person(t, here, "bob", "user")
		idOf := func(name string) string {
			t.Helper()
			list, _ := here.Want(here.Do("GET", "/v1/admin/users?name="+name, "", e2e.Bearer(root)), 200, "").Fields["users"].([]any)
			one, _ := list[0].(map[string]any)
			return fmt.Sprint(one["id"])
		}
		path := func(name string) string { return "/v1/admin/users/" + idOf(name) }
		ada, billing := path("ada"), path("billing")
		link := here.Want(here.Do("POST", ada+"/password-reset", "", e2e.Bearer(root)), 201, "").Field("reset_token")
		key := here.Want(here.Do("POST", billing+"/keys", `{"name":"billing","scopes":["verify"]}`, e2e.Bearer(root)), 201, "").Field("key")
		for _, token := range []string{user, service, others} {
			here.Alive(token)
			there.Alive(token)
		}
		there.Want(there.Post("/v1/introspect", "token="+user, "Authorization", "Bearer "+key), 200, "")

		// An attacker, and a mistake.
		here.Want(here.Do("DELETE", ada, `{"username":"ada"}`), 401, "token_missing")
		here.Want(here.Do("DELETE", ada, `{"username":"ada"}`, e2e.Bearer(others)), 403, "forbidden")
		here.Want(here.Do("DELETE", ada, `{"username":"ada"}`, e2e.Bearer(service)), 403, "forbidden")
		here.Want(here.Do("DELETE", path("bob"), `{"username":"ada"}`, e2e.Bearer(root)), 422, "validation_failed")
		here.Want(here.Do("DELETE", ada, `{"username":"ad"}`, e2e.Bearer(root)), 422, "validation_failed")
		here.Want(here.Do("DELETE", ada, "", e2e.Bearer(root)), 415, "media_type_unsupported")
		here.Want(here.Do("DELETE", path("root"), `{"username":"root"}`, e2e.Bearer(root)), 409, "last_admin")
		for _, token := range []string{user, service, others, root} {
			there.Alive(token)
		}

		deleted := time.Now()
		here.Want(here.Do("DELETE", ada, `{"username":"Ada","reason":"asked"}`, e2e.Bearer(root)), 204, "")
		here.Want(here.Do("DELETE", billing, `{"username":"billing"}`, e2e.Bearer(root)), 204, "")
		for _, c := range []*e2e.Client{here, there} {
			e2e.Soon(t, c, user, "token_revoked", deleted)
			e2e.Soon(t, c, service, "token_revoked", deleted)
			c.Want(c.TryLogin("ada", password), 401, "credentials_invalid")
			c.Want(c.TryLogin("billing", servicePassword), 401, "credentials_invalid")
			c.Want(c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", link, "new_password", e2e.NewPassword())), 403, "reset_token_invalid")
			c.Want(c.Do("GET", ada, "", e2e.Bearer(root)), 404, "not_found")
			c.Want(c.Do("PATCH", ada, `{"disabled":false}`, e2e.Bearer(root)), 404, "not_found")
			c.Want(c.Do("POST", ada+"/password-reset", "", e2e.Bearer(root)), 404, "not_found")
			c.Want(c.Do("POST", ada+"/logout", "", e2e.Bearer(root)), 404, "not_found")
			c.Want(c.Register("ada", e2e.NewPassword()), 409, "username_taken")
			c.Alive(others)
		}
		soonKey := func(c *e2e.Client) bool {
			return c.Post("/v1/introspect", "token="+others, "Authorization", "Bearer "+key).Status == 401
		}
		testenv.Eventually(t, e2e.Patience, func() bool { return soonKey(there) && soonKey(here) }, "the key of a deleted service is accepted")
		here.Want(here.Do("DELETE", ada, `{"username":"ada"}`, e2e.Bearer(root)), 204, "")

		// What the previous release reads lets nobody in.
		db := d.SQL(t)
		if n := e2e.Count(t, db, "SELECT COUNT(*) FROM users WHERE username IN ('ada', 'billing') AND disabled_at IS NOT NULL AND password_hash = '' AND token_id IS NULL"); n != 2 {
			t.Errorf("%d of 2 rows are closed for a release that does not know of deletions", n)
		}
		e2e.MustRecord(t, db, "user.deleted", "ada asked", "billing")
	})
}

// TestPeopleLeaveAndTakeTheirData: an export has nothing of anybody else, and no secret; who
// has asked to be deleted is out at once, and comes back by a login.
func TestPeopleLeaveAndTakeTheirData(t *testing.T) {
	e2e.OnBothStores(t, func(t *testing.T, d *e2e.Deployment) {
		a := d.Start(t, "FLAKEPASS_SELF_DELETION", "on")
		c := e2e.NewClient(t, a.Public)
		root, _ := d.Person(t, c, "root", "admin")
		_, password := d.Person(t, c, "ada", "user")
		service, _ := d.Person(t, c, "billing", "service")
		list, _ := c.Want(c.Do("GET", "/v1/admin/users?name=ada", "", e2e.Bearer(root)), 200, "").Fields["users"].([]any)
		one, _ := list[0].(map[string]any)
		c.Want(c.Do("POST", fmt.Sprint("/v1/admin/users/", one["id"], "/logout"), `{"reason":"root said so"}`, e2e.Bearer(root)), 204, "")
		seen := c.Want(c.Do("GET", "/v1/me/sessions", "", e2e.Bearer(c.Login("ada", password))), 200, "").Fields["sessions"].([]any)
		mine, _ := seen[0].(map[string]any)
		c.Want(c.Do("DELETE", fmt.Sprint("/v1/admin/sessions/", mine["id"]), `{"reason":"root said so"}`, e2e.Bearer(root)), 204, "")
		token := c.Login("ada", password)

		api, err := client.New(client.Options{URL: "http://" + strings.TrimPrefix(a.Public, "http://"), Token: own(token)})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := api.ExportMe(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		var data wire.MyData
		if err := json.Unmarshal(out.Bytes(), &data); err != nil || !data.Complete() || data.Account.Username != "ada" || len(data.Sessions) != 1 || len(data.Events) < 3 {
			t.Fatalf("%v: %s", err, out.Bytes())
		}
		if n := strings.Count(out.String(), `"action":"login.ended"`); n != 2 { // by the user, and by the login
			t.Errorf("the export has %d of 2 ends by an operator: %s", n, out.String())
		}
		for _, secret := range []string{"root", "billing", "argon2", token, password, "said so"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("the export has %q", secret)
			}
		}
		db := d.SQL(t)
		e2e.Execute(t, db, "UPDATE users SET token_proved_at = token_proved_at - 660000 WHERE username = 'ada'")
		c.Want(c.Do("GET", "/v1/me/export", "", e2e.Bearer(token)), 403, "reauthentication_required")
		c.Want(c.Do("POST", "/v1/me/reauthenticate", e2e.Object("password", password), e2e.Bearer(token)), 204, "")
		for range 4 {
			c.Want(c.Do("GET", "/v1/me/export", "", e2e.Bearer(token)), 200, "")
		}
		c.Want(c.Do("GET", "/v1/me/export", "", e2e.Bearer(token)), 429, "rate_limited")
		if counted := []byte(`flakepass_throttled_total{policy="export"} 1`); !bytes.Contains(e2e.Metrics(t, a.Ops), counted) || !strings.Contains(a.Log.String(), `reason="rate_limited: export"`) {
			t.Error("the refused export is not counted, or not in the log")
		}

		c.Want(c.Do("DELETE", "/v1/me", "", e2e.Bearer(service)), 403, "forbidden")
		c.Want(c.Do("DELETE", "/v1/me", "", e2e.Bearer(root)), 409, "last_admin")
		asked, err := api.DeleteMe(t.Context())
		if in := time.Until(asked.Due.Time); err != nil || in < 13*24*time.Hour || in > 15*24*time.Hour {
			t.Fatalf("%+v, %v", asked, err)
		}
		c.Dead(token, "token_logged_out")
		seenByRoot := func(want bool) {
			t.Helper()
			p := c.Want(c.Do("GET", fmt.Sprint("/v1/admin/users/", one["id"]), "", e2e.Bearer(root)), 200, "")
			list, _ := c.Want(c.Do("GET", "/v1/admin/users?name=ada", "", e2e.Bearer(root)), 200, "").Fields["users"].([]any)
			listed, _ := list[0].(map[string]any)
			if (p.Fields["deletion_asked_at"] != nil) != want || p.Fields["deletion_asked_at"] != listed["deletion_asked_at"] {
				t.Errorf("asked: %v, and an operator sees %s and %v", want, p.Body, listed)
			}
		}
		seenByRoot(true)
		if back := c.Want(c.TryLogin("ada", password), 200, ""); back.Fields["deletion_cancelled"] != true {
			t.Errorf("%s", back.Body)
		}
		seenByRoot(false)
		if again := c.Want(c.TryLogin("ada", password), 200, ""); again.Fields["deletion_cancelled"] != nil {
			t.Errorf("%s", again.Body)
		}
		old := d.Start(t)
		off := e2e.NewClient(t, old.Public)
		off.Want(off.Do("DELETE", "/v1/me", "", e2e.Bearer(off.Login("ada", password))), 403, "self_deletion_off")
	})
}

func own(text string) func(context.Context) (flakepass.Token, error) {
	return func(context.Context) (flakepass.Token, error) { return flakepass.ParseToken(text) }
}
