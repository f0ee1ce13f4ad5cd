package deploytest

import (
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A client logs out with a token of the login before the last, which the database
// has forgotten. The instance that answers had not read that it is over, and
// refuses it from then on nevertheless.
func TestLogoutOfTheForgottenIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQLAlone(t)
	// The longest bound: nothing becomes too old to be believed meanwhile.
	there := e2e.NewClient(t, d.Start(t).Public)
	one := d.Start(t, "FLAKEPASS_REVOCATION_BOUND", "5m")
	here := e2e.NewClient(t, one.Public)
	password := e2e.NewPassword()
	here.Want(here.Register("ada", password), 201, "")
	stale := 0
	testenv.Eventually(t, e2e.Patience, func() bool {
		old := there.Login("ada", password)
		here.Alive(old)
		there.Want(there.Logout(there.Login("ada", password)), 204, "")
		if here.Me(old).Status == 200 { // it has not read it yet
			stale++
		}
		here.Want(here.Logout(old), 204, "")
		if got := here.Me(old); got.Status != 401 {
			t.Fatalf("logged out here, and answered with %d here", got.Status)
		}
		return stale >= 3
	}, "the instance has not read an end yet")
}
