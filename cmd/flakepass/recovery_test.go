package main

import (
	"strings"
	"testing"
)

// TestRecoveryCodesAreRenewed: who has lost the list proves who they are and gets
// another; the old one opens nothing from that moment, on the other instance
// either, and the record says who did it, and no code.
func TestRecoveryCodesAreRenewed(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(testing.TB) *deployment{"SQLite": onSQLite, "MySQL": onMySQLAlone} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			d.vars["FLAKEPASS_SECOND_FACTOR_KEY"] = strings.Repeat("5a", 32)
			c := newClient(t, d.start(t).public)
			other := c
			if kind == "MySQL" {
				other = newClient(t, d.start(t).public)
			}
			password := newPassword()
			c.want(c.register("alice", password), 201, "")
			token := c.login("alice", password)
			renew := func(password, code string) answer {
				return c.do("POST", "/v1/me/second-factor/recovery-codes", object("current_password", password, "code", code), bearer(token))
			}
			c.want(renew(password, "123456"), 409, "second_factor_not_enrolled")
			secret, old := enrolByAPI(t, c, token, password)
			c.want(renew("not the right passphrase", old[0].(string)), 403, "current_password_invalid")
			c.want(renew(password, "AAAA-AAAA-AAAA-AAAA-AAAA-AAAA"), 403, "current_code_invalid")

			done := renew(password, nextCode(t, secret, 1))
			c.want(done, 200, "")
			fresh, _ := done.fields["recovery_codes"].([]any)
			if len(fresh) != 10 {
				t.Fatalf("%d codes", len(fresh))
			}
			if got := c.do("GET", "/v1/me/second-factor", "", bearer(token)); string(got.body) != `{"enrolled":true,"recovery_codes_left":10}` {
				t.Errorf("the state is %s", got.body)
			}
			in := func(c *client, code any) answer {
				return c.do("POST", "/v1/login", object("username", "alice", "password", password, "code", code.(string)))
			}
			other.want(in(other, old[3]), 401, "second_factor_invalid")
			other.want(in(other, fresh[0]), 200, "")

			record := must(t, d.vars, "", "audit", "--action", "user.recovery_codes_renewed", "--json").out
			if strings.Count(record, "user.recovery_codes_renewed") != 1 || !strings.Contains(record, "alice") {
				t.Errorf("the record has %s", record)
			}
			if all := must(t, d.vars, "", "audit", "--limit", "100", "--json").out; strings.Contains(all, fresh[1].(string)) {
				t.Error("the record has a code")
			}
		})
	}
}
