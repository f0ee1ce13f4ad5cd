package consoletest

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A person opens the link that an admin gave, in a browser of their own, and sets
// a passphrase; with and without scripts.
func TestConsoleOneTimeLink(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	e2e.NewAdmin(t, d, "grace", account.RoleUser)
	b := newBrowser(t, i)
	give := func() (link, token string) {
		b.open("/console/users?name=grace")
		if strings.HasPrefix(b.path(), "/console/login") {
			b.login("ada")
		}
		b.press(`td a[href^="/console/users/"]`)
		b.press(`form[action$="/reset"] button`)
		b.sees("One-time link", "grace")
		return b.value("#link"), b.value("#token")
	}
	link, token := give()
	if link != "http://"+i.Public+"/console/password#"+token || !e2e.ResetText.MatchString(token) {
		t.Fatalf("the link is %s", link)
	}
	c := e2e.NewClient(t, i.Public)

	grace := b.other()
	grace.open(strings.TrimPrefix(link, grace.at))
	grace.sees("Set a new passphrase", "At least 15 characters.")
	if at := evaluate[string](grace, "location.href"); at != "http://"+i.Public+"/console/password" {
		t.Errorf("the address bar says %s", at)
	}
	grace.fill("#password", "an entirely new passphrase")
	grace.sees("Long enough.")
	grace.fill("#password-again", "an entirely newer passphrase")
	grace.press(`main button[type="submit"]`)
	grace.sees("The two passphrases are not the same.")
	grace.fill("#password", "an entirely new passphrase")
	grace.fill("#password-again", "an entirely new passphrase")
	grace.press(`main button[type="submit"]`)
	grace.sees("The passphrase is set")
	c.Alive(c.Login("grace", "an entirely new passphrase"))

	_, token = give()
	plain := b.other()
	plain.scripts(false)
	plain.open("/console/password")
	plain.fill("#token", token)
	plain.fill("#password", "typed without any script")
	plain.fill("#password-again", "typed without any script")
	plain.press(`main button[type="submit"]`)
	plain.sees("The passphrase is set")
	c.Alive(c.Login("grace", "typed without any script"))
	plain.open("/console/password")
	plain.fill("#token", token)
	plain.fill("#password", "typed without any script")
	plain.fill("#password-again", "typed without any script")
	plain.press(`main button[type="submit"]`)
	plain.sees("This one-time code does not work")

	_, token = give()
	b.press(`form[action$="/withdraw"] button`)
	b.sees("it no longer works")
	c.Want(c.Do("POST", "/v1/password-resets", e2e.Object("reset_token", token, "new_password", e2e.NewPassword())), 403, "reset_token_invalid")
	b.press(`a[href^="/console/audit?target="]`)
	b.sees("One-time link made", "Password set by one-time link", "One-time link withdrawn")
	if strings.Contains(i.Log.String(), token) {
		t.Error("the log has a token")
	}
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(i.Log.String(), "password reset") }, "the log reports it")
}
