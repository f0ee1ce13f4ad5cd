package lifecycletest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/run"
)

// TestWhatPeopleDoToTheirOwnAccountsIsInTheRecord: who made an account, in
// which way, and who changed a password; by themselves, and not from where.
func TestWhatPeopleDoToTheirOwnAccountsIsInTheRecord(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(testing.TB) *e2e.Deployment{"SQLite": e2e.OnSQLite, "MySQL": e2e.OnMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			i := d.Start(t)
			c := e2e.NewClient(t, i.Public)
			testenv.Eventually(t, e2e.Patience, func() bool { return e2e.Setup.MatchString(i.Out.String()) }, "there is a link")
			address, code, _ := strings.Cut(e2e.Setup.FindString(i.Out.String()), "?code=")
			resp, err := (&http.Client{Timeout: e2e.Patience}).Post(address, "application/x-www-form-urlencoded", //nolint:noctx // the client has a timeout
				strings.NewReader("code="+code+"&username=root&password="+strings.ReplaceAll(e2e.NewPassword(), " ", "+")))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()

			password, next := e2e.NewPassword(), e2e.NewPassword()
			c.Want(c.Register("Alice", password), 201, "")
			c.Want(c.Register("alice", password), 409, "username_taken")
			token := c.Login("alice", password)
			change := func(current string) e2e.Answer {
				return c.Do("PUT", "/v1/me/password", e2e.Object("current_password", current, "new_password", next), e2e.Bearer(token))
			}
			c.Want(change(next), 403, "current_password_invalid")
			c.Want(change(password), 204, "")

			events, err := run.EventsOf(d.Open(t)).List(t.Context(), audit.Filter{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				if e.Action == audit.LoginBegan {
					continue
				}
				if e.By.ID == 0 || e.By.ID != e.Target.ID || e.By.Name != e.Target.Name || e.By.Address != "" || e.By.RequestID == "" {
					t.Errorf("by %+v to %+v", e.By, e.Target)
				}
				got = append(got, fmt.Sprintf("%s %s %s %s", e.By.Name, e.Action, e.By.Via, e.New))
			}
			want := []string{"alice user.password_changed api ", `alice user.created api {"role":"user"}`, `root user.created console {"role":"admin"}`}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
