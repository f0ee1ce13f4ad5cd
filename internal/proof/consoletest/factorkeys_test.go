package consoletest

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestConsoleWithoutTheKeyOfASecondFactor: who has the passphrase and a second
// factor that nothing can check is not let in, and the page says which setting is
// missing; a recovery code opens.
func TestConsoleWithoutTheKeyOfASecondFactor(t *testing.T) {
	e2e.OnBothStores(t, consoleWithoutTheKey)
}

func consoleWithoutTheKey(t *testing.T, d *e2e.Deployment) {
	key := func(c string) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(c, 32))) }
	newAdminAt := func(i *e2e.Instance) (secret string, codes []any) {
		e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
		c := e2e.NewClient(t, i.Public)
		return e2e.EnrolByAPI(t, c, c.Login("ada", e2e.Passphrase), e2e.Passphrase)
	}
	var secret string
	var codes []any
	t.Run("enrolled", func(t *testing.T) {
		secret, codes = newAdminAt(d.Start(t, "FLAKEPASS_SECOND_FACTOR_KEY", key("a")))
	})
	// A code cannot be checked, and a recovery code can.
	without := func(t *testing.T, recovery any, settings ...string) {
		i := d.StartLoud(t, settings...)
		b := newBrowser(t, i)
		b.open("/console/users")
		b.login("ada")
		b.fill("#code", e2e.NextCode(t, secret, 1))
		b.press(`main button[type="submit"]`)
		b.sees("The code cannot be checked", "FLAKEPASS_SECOND_FACTOR_KEY", "A recovery code still works.")
		b.fill("#code", recovery.(string))
		b.press(`main button[type="submit"]`)
		b.sees("Names that begin with")
		if !strings.Contains(i.Log.String(), "set FLAKEPASS_SECOND_FACTOR_KEY to the key") {
			t.Errorf("the log does not say it to the operator: %s", i.Log)
		}
		testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(i.Log.String(), "under keys that this instance does not have") },
			"no warning before somebody is refused")
	}
	t.Run("another key", func(t *testing.T) { without(t, codes[0], "FLAKEPASS_SECOND_FACTOR_KEY", key("b")) })
	if d.File != "" {
		return // with SQLite there is always a key
	}
	t.Run("no key", func(t *testing.T) { without(t, codes[1]) })
}
