package main

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/run"
)

// TestConsolesShowEveryInstance: whichever is asked shows all that run. One that
// is killed is shown as not heard of and later forgotten; one that stops is gone
// at once.
func TestConsolesShowEveryInstance(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	one, two := startProcess(t, t.TempDir(), d.vars), startProcess(t, t.TempDir(), d.vars)
	newAdmin(t, d, "ada", account.RoleAdmin)
	newAdmin(t, d, "bob", account.RoleAdmin)
	db := d.sql(t)
	named := func(p *process) string { // as in the table of the console
		name := holderOf(p)
		testenv.Eventually(t, patience, func() bool { return count(t, db, "SELECT COUNT(*) FROM instances WHERE name = ?", name) == 1 }, name+" reports")
		return name
	}
	first, second := named(one), named(two)
	shows := func(b *browser, want ...string) { // reports come every few seconds, and one of a busy machine may be bad
		t.Helper()
		testenv.Eventually(t, patience, func() bool {
			b.open("/console/")
			text := b.text()
			return !slices.ContainsFunc(want, func(s string) bool { return !strings.Contains(text, s) })
		}, "the page says: "+strings.Join(want, ", "))
	}

	ada := newBrowser(t, &instance{public: one.public})
	ada.open("/console/")
	ada.login("ada")
	shows(ada, "2 known, 2 of them well.", first, second, "Worker number", "agrees with the database")
	bob := ada.other()
	bob.at = "http://" + two.public
	bob.open("/console/")
	bob.login("bob")
	shows(bob, "2 known, 2 of them well.", first, second)
	for b, self := range map[*browser]string{ada: first, bob: second} {
		if row := evaluate[string](b, `document.querySelector(".fleet tr:has(th .badge) bdi").textContent`); row != self {
			t.Errorf("%s says that it is %s", self, row)
		}
	}
	shows(bob, "tokens accepted")

	two.signal(t, syscall.SIGKILL)
	<-two.ended
	execute(t, db, "UPDATE instances SET seen_at = seen_at - 40000 WHERE name = ?", second)
	shows(ada, "2 known, 1 of them well.", second)
	if text := ada.text(); !regexp.MustCompile(`Not heard of for ((4|5)\d seconds|1 minute)`).MatchString(text) || !strings.Contains(text, first) {
		t.Errorf("of the one that was killed the page says:\n%s", text)
	}
	// Whoever starts forgets who is gone, and so does each once a minute.
	execute(t, db, "UPDATE instances SET seen_at = seen_at - 600000 WHERE name = ?", second)
	three := startProcess(t, t.TempDir(), d.vars)
	third := named(three)
	shows(ada, "2 known, 2 of them well.", third)
	if text := ada.text(); strings.Contains(text, second) {
		t.Errorf("the one that is gone is still shown:\n%s", text)
	}
	three.signal(t, syscall.SIGTERM)
	three.end(t)
	shows(ada, "1 known, 1 of them well.")
}

// holderOf is the name under which a process reports.
func holderOf(p *process) string {
	host, _, _ := strings.Cut(run.Holder(), ":")
	return host + ":" + strconv.Itoa(p.cmd.Process.Pid)
}

// Redis that stands still is seen in what each says of it, and harms nothing.
func TestInstancesTellOfRedis(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	i := d.start(t)
	newAdmin(t, d, "ada", account.RoleAdmin)
	c := goClient(t, i, nil)
	in, err := c.Login(t.Context(), apiclient.Credentials{Username: "ada", Password: apiclient.NewPassword(passphrase)})
	if err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		testenv.Eventually(t, patience, func() bool {
			list, err := c.As(in.Token).Instances(t.Context())
			return err == nil && len(list) == 1 && list[0].RedisState == want && list[0].Horizon >= 0 && list[0].Bound == bound
		}, "the instance says of Redis: "+want)
	}
	says("ok")
	d.redis.Pause()
	says("does not answer")
	d.redis.Resume()
	says("ok")
}

func callInstances(ctx context.Context, t *testing.T, admin *apiclient.Client) {
	var list []apiclient.Instance
	testenv.Eventually(t, patience, func() bool {
		list = step[[]apiclient.Instance](t, "instances")(admin.Instances(ctx))
		return len(list) > 0
	}, "the instance has reported")
	if i := list[0]; len(list) != 1 || i.Name != run.Holder() || i.Version != release.Version() || i.NotHeardOf || i.RedisState != "none" || i.Horizon < 0 ||
		i.Bound != bound || i.StartedAt.IsZero() || i.SeenAt.Before(i.StartedAt) || i.DatabaseTook <= 0 || i.ClockAhead.Abs() > time.Minute || len(i.Troubles) != 0 {
		t.Errorf("instances: %+v", list)
	}
}

// TestReportsThatFailHarmNothing: an instance whose reports get lost stays ready,
// lets people in and out, and says so in the log once; its reports come again
// afterwards.
func TestReportsThatFailHarmNothing(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	db := d.sql(t)
	i := d.start(t)
	testenv.Eventually(t, patience, func() bool { return count(t, db, "SELECT COUNT(*) FROM instances") == 1 }, "the instance reports")
	execute(t, db, "RENAME TABLE instances TO elsewhere")
	testenv.Eventually(t, patience, func() bool { return strings.Contains(i.log.String(), "could not report") }, "the log says so")
	c, ops, password := newClient(t, i.public), newClient(t, i.ops), newPassword()
	ops.want(ops.do("GET", "/readyz", ""), 200, "")
	c.want(c.register("alice", password), 201, "")
	token := c.login("alice", password)
	c.alive(token)
	c.want(c.logout(token), 204, "")
	execute(t, db, "RENAME TABLE elsewhere TO instances")
	testenv.Eventually(t, patience, func() bool { return count(t, db, "SELECT MAX(database_failed) FROM instances") > 0 }, "reports come again, and tell of those that did not")
	if n := strings.Count(i.log.String(), "could not report"); n != 1 {
		t.Errorf("the log says so %d times", n)
	}
}
