package main

import (
	"net/url"
	"os"
	"os/user"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// TestRefusedResetsAreOnRecord: through both doors, counted by reason and door,
// without the token, and with whose it was where it was somebody's.
func TestRefusedResetsAreOnRecord(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	i := d.start(t)
	c := newClient(t, i.public)
	must(t, d.vars, "", "user", "add", "oscar", "--invite")
	link := must(t, d.vars, "", "user", "reset", "oscar").out
	token := resetText.FindString(link)
	if token == "" {
		t.Fatalf("no token in %s", link)
	}
	must(t, d.vars, "", "user", "disable", "oscar")
	nobodys := account.NewResetToken().Reveal()
	for _, text := range []string{nobodys, "x", account.NewResetToken().Reveal()} {
		c.want(c.do("POST", "/v1/password-resets", object("reset_token", text, "new_password", newPassword())), 403, "reset_token_invalid")
	}
	c.want(c.do("POST", "/v1/password-resets", object("reset_token", token, "new_password", newPassword())), 403, "account_disabled")
	for text, times := range map[string]int{nobodys: 2, "y": 1, token: 1} {
		password := newPassword()
		form := url.Values{"reset_token": {text}, "password": {password}, "password_again": {password}}
		for range times {
			if status, page := postForm(t, "http://"+i.public+"/console/password", form); status != 403 {
				t.Errorf("the console: %d\n%s", status, page)
			}
		}
	}
	if err := i.stop(); err != nil {
		t.Fatal(err)
	}
	db := d.sql(t)
	mustRecord(t, db, "user.reset_refused", `reset_token_invalid {"count":3,`, `reset_token_invalid {"count":3,`,
		`oscar account_disabled: issued by `+typist(t)+`, in a shell {"count":1,`, `oscar account_disabled: issued by `)
	if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.reset_refused' AND via = 'console' AND address LIKE '127.%' AND request_id <> ''"); n != 2 {
		t.Errorf("%d are of the console", n)
	}
	if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.reset_refused' AND via = 'console' AND target = 'oscar'"); n != 1 {
		t.Errorf("%d of the console are oscar's", n)
	}
	if all := must(t, d.vars, "", "audit", "--limit", "100", "--json").out; strings.Contains(all, token) || strings.Contains(all, nobodys) {
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
