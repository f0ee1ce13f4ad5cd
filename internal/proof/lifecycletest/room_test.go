package lifecycletest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestLoginAboveTheLimitOnEveryProcess: it is refused with the logins of the user, and begins
// in place of the one that is named: by the ticket, once, or by the password on another
// process. Who logs out everywhere ends the ticket too, and a device that has room takes none. The times of a class and of a role are answered with the name of their override.
func TestLoginAboveTheLimitOnEveryProcess(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			w := newPolicyWorld(t, setup.make)
			here, there := e2e.NewClient(t, w.a.Public), e2e.NewClient(t, w.b.Public)
			more := `,"max_sessions":2,"over_limit":"refuse","overrides":[{"device_class":"phone","idle_timeout_seconds":7200,"max_sessions":1},{"role":"admin","absolute_lifetime_seconds":43200}]`
			w.admin.Want(w.ask("PUT", "/v1/admin/policy", wantedPolicy(86400, "0 0 1 1 *", more), e2e.Header("If-Match", `"1"`)), 200, "")
			w.inForce(t, 2)
			password := e2e.NewPassword()
			w.keep.Password(password)
			here.Want(here.Register("ada", password), 201, "")
			ask := func(c *e2e.Client, class, end string) e2e.Answer {
				return c.Do("POST", "/v1/login", fmt.Sprintf(`{"username":"ada","password":%q,"device":{"class":%q},"end_session":%q}`, password, class, end))
			}
			phone := here.Want(ask(here, "phone", ""), 200, "")
			tv := there.Want(ask(there, "tv", ""), 200, "")
			var full struct {
				Sessions []wire.MySession
				Ticket   string
			}
			a := here.Want(ask(here, "web", ""), 409, "session_limit")
			if err := json.Unmarshal([]byte(a.Body), &full); err != nil || len(full.Sessions) != 2 {
				t.Fatal(err, a.Body)
			}
			if by := full.Sessions[1]; by.ID.String() != phone.Field("session_id") || by.IdleBy != "class:phone" || by.ExpiresBy != "" || by.IdleExpiresAt.Sub(by.LastSeenAt.Time).Hours() != 2 {
				t.Errorf("the phone is listed as %+v", by)
			}
			w.keep.Password(full.Ticket) // it opens a login: no log may have it
			go1 := fmt.Sprintf(`{"ticket":%q,"end_session":%q,"device":{"class":"web"}}`, full.Ticket, full.Sessions[1].ID)
			web := here.Want(here.Do("POST", "/v1/login", go1), 200, "")
			here.Want(here.Do("POST", "/v1/login", go1), 401, "ticket_over")
			here.Dead(phone.Field("token"), "token_replaced")
			there.Alive(tv.Field("token"))
			there.Want(there.Do("POST", "/v1/login", `{"ticket":"x","username":"ada"}`), 422, "validation_failed")
			there.Want(ask(there, "tablet", web.Field("session_id")), 200, "")
			a = here.Want(ask(here, "tv", "1"), 409, "session_limit")
			w.keep.Password(a.Field("ticket"))
			here.Want(here.Do("POST", "/v1/logout", `{"everywhere":true}`, e2e.Bearer(tv.Field("token"))), 204, "")
			late := fmt.Sprintf(`{"ticket":%q,"end_session":"1","device":{"class":"tv"}}`, a.Field("ticket"))
			here.Want(here.Do("POST", "/v1/login", late), 401, "ticket_over")
			phone = here.Want(ask(here, "phone", ""), 200, "")
			a = here.Want(ask(here, "phone", ""), 409, "session_limit")
			w.keep.Password(a.Field("ticket"))
			other := fmt.Sprintf(`{"ticket":%q,"end_session":%q,"device":{"class":"tv"}}`, a.Field("ticket"), phone.Field("session_id"))
			if a = here.Want(here.Do("POST", "/v1/login", other), 401, "ticket_over"); !strings.Contains(a.Field("detail"), "the device needs none") {
				t.Errorf("the ticket of a phone for a device that has room: %s", a.Body)
			}
			here.Alive(phone.Field("token"))
		})
	}
}
