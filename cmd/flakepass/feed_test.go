package main

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/gormstore"
)

// Without Redis nothing but the feed carries word of a logout from one instance
// to another, and it does so long before the bound.
func TestLogoutIsHeardOfThroughTheDatabaseAlone(t *testing.T) {
	t.Parallel()
	const longBound = "FLAKEPASS_REVOCATION_BOUND"
	for name, open := range map[string]func(testing.TB) *deployment{"sqlite": onSQLite, "mysql": onMySQLAlone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			a, b := d.start(t, longBound, "5m"), d.start(t, longBound, "5m")
			here, there := newClient(t, a.public), newClient(t, b.public)
			password := newPassword()
			here.want(here.register("ada", password), 201, "")
			token := here.login("ada", password)
			there.alive(token)
			here.want(here.logout(token), 204, "")
			here.dead(token, "token_logged_out")
			testenv.Eventually(t, patience, func() bool { return there.me(token).status == 401 },
				"the other instance refuses, minutes before the bound")
			there.dead(token, "token_logged_out")
		})
	}
}

// With nothing cached there is nothing to hear of.
func TestNothingCachedRefusesAtOnce(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	a, b := d.start(t, "FLAKEPASS_CACHE_ENTRIES", "0"), d.start(t, "FLAKEPASS_CACHE_ENTRIES", "0")
	here, there := newClient(t, a.public), newClient(t, b.public)
	password := newPassword()
	here.want(here.register("ada", password), 201, "")
	for range 20 {
		token := here.login("ada", password)
		there.alive(token)
		here.want(here.logout(token), 204, "")
		there.dead(token, "token_logged_out")
	}
}

func TestGlobalFloorReachesEveryInstance(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	a, b := d.start(t), d.start(t)
	here, there := newClient(t, a.public), newClient(t, b.public)
	password := newPassword()
	here.want(here.register("ada", password), 201, "")
	token := here.login("ada", password)
	there.alive(token)

	db, err := run.Connect(t.Context(), d.config(t), telemetry.NewLog(t.Output(), config.LogText, 0), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := (&gormstore.Settings{DB: db}).EndAll(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client{here, there} {
		testenv.Eventually(t, patience, func() bool { return c.me(token).status == 401 }, "every instance refuses")
		c.dead(token, "token_revoked")
	}
	there.alive(there.login("ada", password))
}
