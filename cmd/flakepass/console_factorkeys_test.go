package main

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/account"
)

// TestConsoleWithoutTheKeyOfASecondFactor: who has the passphrase and a second
// factor that nothing can check is not let in, and is told which setting is
// missing; a recovery code opens where there is another key.
func TestConsoleWithoutTheKeyOfASecondFactor(t *testing.T) {
	onBothStores(t, consoleWithoutTheKey)
}

func consoleWithoutTheKey(t *testing.T, d *deployment) {
	key := func(c string) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(c, 32))) }
	newAdminAt := func(i *instance) (secret string, codes []any) {
		newAdmin(t, d, "ada", account.RoleAdmin)
		c := newClient(t, i.public)
		return enrolByAPI(t, c, c.login("ada", passphrase), passphrase)
	}
	var secret string
	var codes []any
	t.Run("enrolled", func(t *testing.T) {
		secret, codes = newAdminAt(d.start(t, "FLAKEPASS_SECOND_FACTOR_KEY", key("a")))
	})
	t.Run("another key", func(t *testing.T) {
		i := d.startLoud(t, "FLAKEPASS_SECOND_FACTOR_KEY", key("b"))
		b := newBrowser(t, i)
		b.open("/console/users")
		b.login("ada")
		b.fill("#code", nextCode(t, secret, 1))
		b.press(`main button[type="submit"]`)
		b.sees("The code cannot be checked", "FLAKEPASS_SECOND_FACTOR_KEY", "A recovery code works all the same.")
		b.fill("#code", codes[0].(string))
		b.press(`main button[type="submit"]`)
		b.sees("Names that begin with")
		if !strings.Contains(i.log.String(), "set FLAKEPASS_SECOND_FACTOR_KEY to the key") {
			t.Errorf("the log does not tell the operator: %s", i.log)
		}
	})
	if d.file != "" {
		return // with SQLite there is always a key
	}
	t.Run("no key", func(t *testing.T) {
		i := d.startLoud(t)
		b := newBrowser(t, i)
		b.open("/console/users")
		b.login("ada")
		b.sees("FLAKEPASS_SECOND_FACTOR_KEY is not set", "flakepass user second-factor remove NAME")
		if got := b.path(); got != "/console/login" {
			t.Errorf("the page is %s", got)
		}
		b.open("/console/users")
		b.sees("Log in")
	})
}
