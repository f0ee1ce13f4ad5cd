package deploytest

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestRedisThatCannotBeUsedIsReportedAtTheStart: in the greeting and in the log, by
// kind, with its place and without its password; and the instance is ready all
// the same.
func TestRedisThatCannotBeUsedIsReportedAtTheStart(t *testing.T) { //nolint:tparallel // its instances take turns on one database file
	t.Parallel()
	open, locked, paused := testenv.Redis(t), testenv.Redis(t, "--requirepass", "right"), testenv.Redis(t)
	paused.Pause()
	gone := testenv.Redis(t)
	gone.Stop()
	sentinels := testenv.RedisSentinel(t)
	sentinels.Sentinels[0].Command("ACL SETUSER default resetpass >right")
	guarded, free := sentinels.Sentinels[0].Addr+"/"+sentinels.Name, sentinels.Sentinels[1].Addr+"/sesions"
	d := e2e.OnSQLite(t)
	for name, c := range map[string]struct{ url, where, greeting string }{
		"none":                       {"", "", "none"},
		"works":                      {open.URL(), "", "yes"},
		"works with its password":    {"redis://:right@" + locked.Addr, "", "yes"},
		"no server there":            {"redis://:PLANTED@" + gone.Addr, gone.Addr, "does not answer"},
		"stands still":               {"redis://:PLANTED@" + paused.Addr, paused.Addr, "does not answer"},
		"no cluster there":           {"redis+cluster://:PLANTED@" + gone.Addr, gone.Addr, "does not answer"},
		"no sentinel there":          {"redis+sentinel://:PLANTED@" + gone.Addr + "/m?sentinel_password=PLANTED", gone.Addr + "/m", "does not answer"},
		"wrong password":             {"redis://:PLANTED@" + locked.Addr + "/2", locked.Addr, "refuses the user or password"},
		"no password":                {locked.URL(), locked.Addr, "refuses the user or password"},
		"not a cluster":              {"redis+cluster://:PLANTED@" + open.Addr, open.Addr, "is not a cluster"},
		"wrong master":               {"redis+sentinel://:PLANTED@" + free, free, "has sentinels that know no master of that name"},
		"wrong password of sentinel": {"redis+sentinel://" + guarded + "?sentinel_password=PLANTED", guarded, "refuses the user or password"},
		"password of sentinel":       {"redis+sentinel://" + guarded + "?sentinel_password=right", "", "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			i := d.Start(t, "FLAKEPASS_REDIS", c.url)
			e2e.NewClient(t, i.Ops).Want(e2e.NewClient(t, i.Ops).Do("GET", "/readyz", ""), 200, "")
			testenv.Eventually(t, e2e.Patience, func() bool { return i.Out.Count("worker number") == 1 }, "the greeting is printed")
			if i.Out.Count("redis: "+c.greeting) != 1 || c.where != "" && i.Out.Count("("+c.where+")") != 1 {
				t.Errorf("the greeting does not say %q, and where\n%s", c.greeting, i.Out)
			}
			warned := i.Log.Count("cannot be used now")
			if c.where == "" && warned != 0 || c.where != "" && (warned != 1 || i.Log.Count(c.greeting) == 0 || i.Log.Count("level=WARN") == 0) {
				t.Errorf("%d warnings in the log\n%s", warned, i.Log)
			}
			if all := i.Out.String() + i.Log.String(); strings.Contains(all, "PLANTED") || strings.Contains(all, "right@") {
				t.Errorf("the password is in\n%s", all)
			}
			if err := i.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLostSubscriptionIsReportedAndCounted: the log, once, and the metrics of an
// instance report that it does not receive endings any more, and that it does
// again.
func TestLostSubscriptionIsReportedAndCounted(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	redis := testenv.Redis(t)
	i := d.Start(t, "FLAKEPASS_REDIS", redis.URL())
	says := func(lines ...string) bool {
		text := string(e2e.Metrics(t, i.Ops))
		for _, line := range lines {
			if !strings.Contains(text, line+"\n") {
				return false
			}
		}
		return true
	}
	testenv.Eventually(t, e2e.Patience, func() bool {
		return says("flakepass_redis_listening 1", "flakepass_redis_listening_losses_total 0")
	}, "it listens")
	redis.Kill()
	testenv.Eventually(t, e2e.Patience, func() bool {
		return says("flakepass_redis_listening 0", "flakepass_redis_listening_losses_total 1")
	}, "it does not listen, and counts that")
	redis.Start()
	testenv.Eventually(t, e2e.Patience, func() bool {
		return says("flakepass_redis_listening 1", "flakepass_redis_listening_losses_total 1")
	}, "it listens again")
	if i.Log.Count("does not tell of endings") != 1 || i.Log.Count("tells of endings again") != 1 {
		t.Errorf("want one line each\n%s", i.Log)
	}
	if without := d.Start(t); strings.Contains(string(e2e.Metrics(t, without.Ops)), "flakepass_redis") {
		t.Error("an instance without Redis has metrics about it")
	}
}

// TestRedisThatEvictsIsReportedAtTheStart: in the log, once, and by /readyz, which says
// that the instance is ready all the same.
func TestRedisThatEvictsIsReportedAtTheStart(t *testing.T) {
	t.Parallel()
	evicts, keeps, silent := testenv.Redis(t, "--maxmemory-policy", "allkeys-lru"), testenv.Redis(t), testenv.Redis(t)
	silent.Command("ACL SETUSER default -info")
	d := e2e.OnSQLite(t)
	for url, want := range map[string]string{
		evicts.URL(): "maxmemory-policy allkeys-lru", silent.URL(): "its user may not ask", keeps.URL(): "", "": "",
	} {
		i := d.Start(t, "FLAKEPASS_REDIS", url)
		answer := e2e.NewClient(t, i.Ops).Do("GET", "/readyz", "")
		e2e.NewClient(t, i.Ops).Want(answer, 200, "")
		if warns := strings.Contains(string(answer.Body), "warnings"); warns != (want != "") || !strings.Contains(string(answer.Body), want) {
			t.Errorf("/readyz says %s, want %q", answer.Body, want)
		}
		if n := i.Log.Count("counts of attempts"); n != min(len(want), 1) || want != "" && i.Log.Count(want) != 1 {
			t.Errorf("%d warnings in the log, want %q\n%s", n, want, i.Log)
		}
		if err := i.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestRedisThatRefusesWritesIsReportedOnce: in the log, however many reports find it, and when it is over. No
// request is refused then, and this instance goes on receiving ends.
func TestRedisThatRefusesWritesIsReportedOnce(t *testing.T) {
	t.Parallel()
	d, redis := e2e.OnSQLite(t), testenv.Redis(t)
	i, db := d.Start(t, "FLAKEPASS_REDIS", redis.URL()), d.SQL(t)
	report := func() { // two, and so one that began from now on
		for range 2 {
			last := e2e.Count(t, db, "SELECT COALESCE(MAX(seen_at), 0) FROM instances")
			testenv.Eventually(t, e2e.Patience, func() bool { return e2e.Count(t, db, "SELECT COALESCE(MAX(seen_at), 0) FROM instances") > last }, "another report")
		}
	}
	report()
	for n, c := range []struct{ fault, says, end string }{
		{"CONFIG SET maxmemory 1", "refuses what it is asked", "CONFIG SET maxmemory 0"},
		{"REPLICAOF 127.0.0.1 1", "is a replica", "REPLICAOF NO ONE"},
	} {
		redis.Command(c.fault)
		report()
		report()
		if i.Log.Count("cannot be used now") != n+1 || i.Log.Count("can be used again") != n || !said(i.Log.String(), "cannot be used now", c.says) {
			t.Errorf("%s: want one line more, which says %q\n%s", c.fault, c.says, i.Log)
		}
		redis.Command(c.end)
		report()
		if i.Log.Count("can be used again") != n+1 {
			t.Errorf("%s: want one line more when it is over\n%s", c.fault, i.Log)
		}
	}
}

// TestReadyNamesWhatLendsTheWorkerNumber: where Redis lends it, neither the disk nor the database is to be
// looked at.
func TestReadyNamesWhatLendsTheWorkerNumber(t *testing.T) {
	t.Parallel()
	redis := testenv.Redis(t)
	i := e2e.OnSQLite(t).Start(t, "FLAKEPASS_REDIS", redis.URL(), "FLAKEPASS_WORKER", "redis")
	redis.Kill()
	refusedFor(t, i.Ops, "what lends it (FLAKEPASS_WORKER) may be down, full, or take no writes: redis")
}
