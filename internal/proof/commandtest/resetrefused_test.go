package commandtest

import (
	"net/url"
	"os"
	"os/user"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestRefusedResetsAreOnRecord: over the API and the console, counted by reason and edge,
// without the token, and with its account where it has one.
func TestRefusedResetsAreOnRecord(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	e2e.Must(t, d.Vars, "", "user", "add", "oscar", "--invite")
	link := e2e.Must(t, d.Vars, "", "user", "reset", "oscar").Out
	token := e2e.ResetText.FindString(link)
	if token == "" {
		t.Fatalf("no token in %s", link)
	}
	e2e.Must(t, d.Vars, "", "user", "disable", "oscar")
	nobodys := account.NewResetToken().Reveal()
	for _, text := range []string{nobodys, "x", account.NewResetToken().Reveal()} {
		c.Want(c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", text, "new_password", e2e.NewPassword())), 403, "reset_token_invalid")
	}
	c.Want(c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", token, "new_password", e2e.NewPassword())), 403, "account_disabled")
	for text, times := range map[string]int{nobodys: 2, "y": 1, token: 1} {
		password := e2e.NewPassword()
		form := url.Values{"reset_token": {text}, "password": {password}, "password_again": {password}}
		for range times {
			if status, page := e2e.PostForm(t, "http://"+i.Public+"/console/password", form); status != 403 {
				t.Errorf("the console: %d\n%s", status, page)
			}
		}
	}
	if err := i.Stop(); err != nil {
		t.Fatal(err)
	}
	db := d.SQL(t)
	e2e.MustRecord(t, db, "user.reset_refused", `reset_token_invalid {"count":3,`, `reset_token_invalid {"count":3,`,
		`oscar account_disabled: issued by `+typist(t)+`, in a shell {"count":1,`, `oscar account_disabled: issued by `)
	if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.reset_refused' AND via = 'console' AND address LIKE '127.%' AND request_id <> ''"); n != 2 {
		t.Errorf("%d are of the console", n)
	}
	if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.reset_refused' AND via = 'console' AND target = 'oscar'"); n != 1 {
		t.Errorf("%d of the console are oscar's", n)
	}
	if all := e2e.Must(t, d.Vars, "", "audit", "--limit", "100", "--json").Out; strings.Contains(all, token) || strings.Contains(all, nobodys) {
		t.Error("the record has a token")
	}
}

// typist is who types the commands of this test, as the record names them.
func typist(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username + "@" + host
}
