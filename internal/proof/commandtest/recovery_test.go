package commandtest

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestRecoveryCodesAreRenewed: who has lost the list proves who they are and gets
// another; the old one opens nothing from that moment, on the other instance
// either, and the record says who did it, and no code.
func TestRecoveryCodesAreRenewed(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(testing.TB) *e2e.Deployment{"SQLite": e2e.OnSQLite, "MySQL": e2e.OnMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			d.Vars["FLAKEPASS_SECOND_FACTOR_KEY"] = strings.Repeat("5a", 32)
			c := e2e.NewClient(t, d.Start(t).Public)
			other := c
			if kind == "MySQL" {
				other = e2e.NewClient(t, d.Start(t).Public)
			}
			password := e2e.NewPassword()
			c.Want(c.Register("alice", password), 201, "")
			token := c.Login("alice", password)
			renew := func(password, code string) e2e.Answer {
				return c.Do("POST", "/v1/me/second-factor/recovery-codes", e2e.Object("current_password", password, "code", code), e2e.Bearer(token))
			}
			c.Want(renew(password, "123456"), 409, "second_factor_not_enrolled")
			secret, old := e2e.EnrolByAPI(t, c, token, password)
			c.Want(renew("not the right passphrase", old[0].(string)), 403, "current_password_invalid")
			c.Want(renew(password, "AAAA-AAAA-AAAA-AAAA-AAAA-AAAA"), 403, "current_code_invalid")

			done := renew(password, e2e.NextCode(t, secret, 1))
			c.Want(done, 200, "")
			fresh, _ := done.Fields["recovery_codes"].([]any)
			if len(fresh) != 10 {
				t.Fatalf("%d codes", len(fresh))
			}
			if got := c.Do("GET", "/v1/me/second-factor", "", e2e.Bearer(token)); string(got.Body) != `{"enrolled":true,"recovery_codes_left":10}` {
				t.Errorf("the state is %s", got.Body)
			}
			in := func(c *e2e.Client, code any) e2e.Answer {
				return c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", password, "code", code.(string)))
			}
			other.Want(in(other, old[3]), 401, "second_factor_invalid")
			other.Want(in(other, fresh[0]), 200, "")

			record := e2e.Must(t, d.Vars, "", "audit", "--action", "user.recovery_codes_renewed", "--json").Out
			if strings.Count(record, "user.recovery_codes_renewed") != 1 || !strings.Contains(record, "alice") {
				t.Errorf("the record has %s", record)
			}
			if all := e2e.Must(t, d.Vars, "", "audit", "--limit", "100", "--json").Out; strings.Contains(all, fresh[1].(string)) {
				t.Error("the record has a code")
			}
		})
	}
}
