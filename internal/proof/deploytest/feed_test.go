package deploytest

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// Without Redis nothing but the feed carries word of a logout from one instance
// to another, and it does so long before the bound.
func TestLogoutIsReceivedThroughTheDatabaseAlone(t *testing.T) {
	t.Parallel()
	const longBound = "FLAKEPASS_REVOCATION_BOUND"
	for name, open := range map[string]func(testing.TB) *e2e.Deployment{"sqlite": e2e.OnSQLite, "mysql": e2e.OnMySQLAlone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			a, b := d.Start(t, longBound, "5m"), d.Start(t, longBound, "5m")
			here, there := e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public)
			password := e2e.NewPassword()
			here.Want(here.Register("ada", password), 201, "")
			token := here.Login("ada", password)
			there.Alive(token)
			here.Want(here.Logout(token), 204, "")
			here.Dead(token, "token_logged_out")
			testenv.Eventually(t, e2e.Patience, func() bool { return there.Me(token).Status == 401 },
				"the other instance refuses, minutes before the bound")
			there.Dead(token, "token_logged_out")
		})
	}
}

// With nothing cached there is nothing to receive.
func TestNothingCachedRefusesAtOnce(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	a, b := d.Start(t, "FLAKEPASS_CACHE_ENTRIES", "0"), d.Start(t, "FLAKEPASS_CACHE_ENTRIES", "0")
	here, there := e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public)
	password := e2e.NewPassword()
	here.Want(here.Register("ada", password), 201, "")
	for range 20 {
		token := here.Login("ada", password)
		there.Alive(token)
		here.Want(here.Logout(token), 204, "")
		there.Dead(token, "token_logged_out")
	}
}

func TestGlobalFloorReachesEveryInstance(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	a, b := d.Start(t), d.Start(t)
	here, there := e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public)
	password := e2e.NewPassword()
	here.Want(here.Register("ada", password), 201, "")
	token := here.Login("ada", password)
	there.Alive(token)

	db, err := run.Connect(t.Context(), d.Config(t), telemetry.NewLog(t.Output(), config.LogText, 0), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := (&sqlstore.Settings{DB: db}).EndAll(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*e2e.Client{here, there} {
		testenv.Eventually(t, e2e.Patience, func() bool { return c.Me(token).Status == 401 }, "every instance refuses")
		c.Dead(token, "token_revoked")
	}
	there.Alive(there.Login("ada", password))
}
