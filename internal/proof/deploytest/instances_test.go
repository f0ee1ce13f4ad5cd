package deploytest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/run"
)

// Redis that stands still is seen in what each says of it, and harms nothing.
func TestInstancesReportTheirRedis(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	c := goClient(t, i, nil)
	in, err := c.Login(t.Context(), client.Credentials{Username: "ada", Password: client.NewPassword(e2e.Passphrase)})
	if err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		testenv.Eventually(t, e2e.Patience, func() bool {
			list, err := c.As(in.Token).Instances(t.Context())
			return err == nil && len(list) == 1 && list[0].Redis == want && list[0].Horizon != nil && list[0].Bound == wire.Millis(e2e.Bound)
		}, "the instance says of Redis: "+want)
	}
	says("ok")
	d.Redis.Pause()
	says("does not answer")
	d.Redis.Resume()
	says("ok")
}

func callInstances(ctx context.Context, t *testing.T, admin *client.Client) {
	var list []wire.Instance
	testenv.Eventually(t, e2e.Patience, func() bool {
		list = step[[]wire.Instance](t, "instances")(admin.Instances(ctx))
		return len(list) > 0
	}, "the instance has reported")
	if i := list[0]; len(list) != 1 || i.Name != run.Holder() || i.Version != release.Version() || i.NotHeardOf || i.Redis != "none" || i.Horizon == nil ||
		i.Bound != wire.Millis(e2e.Bound) || i.StartedAt.IsZero() || i.SeenAt.Before(i.StartedAt.Time) || i.DatabaseTook <= 0 || time.Duration(i.ClockAhead).Abs() > time.Minute || len(i.Troubles) != 0 {
		t.Errorf("instances: %+v", list)
	}
}

// TestReportsThatFailHarmNothing: an instance whose reports get lost stays ready,
// lets people in and out, and says so in the log once; its reports come again
// afterwards.
func TestReportsThatFailHarmNothing(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	db := d.SQL(t)
	i := d.Start(t)
	testenv.Eventually(t, e2e.Patience, func() bool { return e2e.Count(t, db, "SELECT COUNT(*) FROM instances") == 1 }, "the instance reports")
	said := func() int { return strings.Count(i.Log.String(), "could not report") }
	before := said() // one may have been lost on a machine that stands still
	e2e.Execute(t, db, "RENAME TABLE instances TO elsewhere")
	testenv.Eventually(t, e2e.Patience, func() bool { return said() > before }, "the log says so")
	c, ops, password := e2e.NewClient(t, i.Public), e2e.NewClient(t, i.Ops), e2e.NewPassword()
	ops.Want(ops.Do("GET", "/readyz", ""), 200, "")
	c.Want(c.Register("alice", password), 201, "")
	token := c.Login("alice", password)
	c.Alive(token)
	c.Want(c.Logout(token), 204, "")
	e2e.Execute(t, db, "RENAME TABLE elsewhere TO instances")
	testenv.Eventually(t, e2e.Patience, func() bool { return e2e.Count(t, db, "SELECT MAX(database_failed) FROM instances") > 0 }, "reports come again, and count those that did not")
	if n := said() - before; n != 1 {
		t.Errorf("the log says so %d times", n)
	}
}

// TestWhoUndoesUnderARunningServerIsTold: it lacks what is undone.
func TestWhoUndoesUnderARunningServerIsTold(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	if r := e2e.Command(t, d.Vars, "", "migrate", "down"); r.Code != 1 || strings.Contains(r.Errs, "Instances that run") {
		t.Errorf("while none runs: exit code %d\n%s", r.Code, r.Errs)
	}
	d.StartLoud(t)
	db := d.SQL(t)
	testenv.Eventually(t, e2e.Patience, func() bool { return e2e.Count(t, db, "SELECT COUNT(*) FROM instances") == 1 }, "the instance has reported")
	if r := e2e.Command(t, d.Vars, "", "migrate", "down"); r.Code != 1 || !strings.Contains(r.Errs, "Instances that run on this database: 1. Stop them first") {
		t.Errorf("exit code %d\n%s", r.Code, r.Errs)
	}
	if r := e2e.Command(t, d.Vars, "", "migrate", "down", "--yes"); r.Code != 0 || !strings.Contains(r.Errs, "warning: instances that run on this database: 1.") {
		t.Errorf("--yes: exit code %d\n%s", r.Code, r.Errs)
	}
}
