package main

import (
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A client logs out with a token of the login before the last, which the database
// has forgotten. The instance that answers had not heard that it is over, and
// refuses it from then on nevertheless.
func TestLogoutOfTheForgottenIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	d := onMySQLAlone(t)
	// The longest bound: nothing becomes too old to be believed meanwhile.
	there := newClient(t, d.start(t).public)
	one := d.start(t, "FLAKEPASS_REVOCATION_BOUND", "5m")
	here := newClient(t, one.public)
	password := newPassword()
	here.want(here.register("ada", password), 201, "")
	stale := 0
	testenv.Eventually(t, patience, func() bool {
		old := there.login("ada", password)
		here.alive(old)
		there.want(there.logout(there.login("ada", password)), 204, "")
		if here.me(old).status == 200 { // it has not heard yet
			stale++
		}
		here.want(here.logout(old), 204, "")
		if got := here.me(old); got.status != 401 {
			t.Fatalf("logged out here, and answered with %d here", got.status)
		}
		return stale >= 3
	}, "the instance has not heard of an end yet")
}
