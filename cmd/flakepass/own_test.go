package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/run"
)

// TestWhatPeopleDoToTheirOwnAccountsIsInTheRecord: who made an account, in
// which way, and who changed a password; by themselves, and not from where.
func TestWhatPeopleDoToTheirOwnAccountsIsInTheRecord(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(testing.TB) *deployment{"SQLite": onSQLite, "MySQL": onMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			i := d.start(t)
			c := newClient(t, i.public)
			testenv.Eventually(t, patience, func() bool { return setup.MatchString(i.out.String()) }, "there is a link")
			address, code, _ := strings.Cut(setup.FindString(i.out.String()), "?code=")
			resp, err := (&http.Client{Timeout: patience}).Post(address, "application/x-www-form-urlencoded", //nolint:noctx // the client has a timeout
				strings.NewReader("code="+code+"&username=root&password="+strings.ReplaceAll(newPassword(), " ", "+")))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()

			password, next := newPassword(), newPassword()
			c.want(c.register("Alice", password), 201, "")
			c.want(c.register("alice", password), 409, "username_taken")
			token := c.login("alice", password)
			change := func(current string) answer {
				return c.do("PUT", "/v1/me/password", object("current_password", current, "new_password", next), bearer(token))
			}
			c.want(change(next), 403, "current_password_invalid")
			c.want(change(password), 204, "")

			events, err := run.EventsOf(d.open(t)).List(t.Context(), audit.Filter{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				if e.Action == audit.LoginBegan {
					continue
				}
				if e.By.ID == 0 || e.By.ID != e.Target.ID || e.By.Name != e.Target.Name || e.By.Address != "" || (e.By.RequestID == "") != (e.By.Via == audit.ViaConsole) {
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
