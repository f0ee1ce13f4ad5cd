package main

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// TestConsoleWithoutTheKeyOfASecondFactor: who has the passphrase and a second
// factor that nothing can check is not let in, and is told which setting is
// missing; a recovery code opens.
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
	// A code cannot be checked, and a recovery code can.
	without := func(t *testing.T, recovery any, settings ...string) {
		i := d.startLoud(t, settings...)
		b := newBrowser(t, i)
		b.open("/console/users")
		b.login("ada")
		b.fill("#code", nextCode(t, secret, 1))
		b.press(`main button[type="submit"]`)
		b.sees("The code cannot be checked", "FLAKEPASS_SECOND_FACTOR_KEY", "A recovery code works all the same.")
		b.fill("#code", recovery.(string))
		b.press(`main button[type="submit"]`)
		b.sees("Names that begin with")
		if !strings.Contains(i.log.String(), "set FLAKEPASS_SECOND_FACTOR_KEY to the key") {
			t.Errorf("the log does not tell the operator: %s", i.log)
		}
	}
	t.Run("another key", func(t *testing.T) { without(t, codes[0], "FLAKEPASS_SECOND_FACTOR_KEY", key("b")) })
	if d.file != "" {
		return // with SQLite there is always a key
	}
	t.Run("no key", func(t *testing.T) { without(t, codes[1]) })
}
