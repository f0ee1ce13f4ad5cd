package consoletest

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestConsoleDoesNotWaitForACount: while the database takes its time to count, the
// overview is there without the figures. With scripts they fill in; without, the
// page comes again by itself.
func TestConsoleDoesNotWaitForACount(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	proxy, through := e2e.Between(t, d)
	i := d.Start(t, through...)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 2000)
	b := newBrowser(t, i)
	b.open("/console/expiry")
	b.login("ada")
	for _, scripts := range []bool{true, false} {
		b.scripts(scripts)
		b.open("/console/audit")
		release := make(chan struct{})
		proxy.Decide(func(statement string) e2e.Fate {
			if strings.Contains(statement, "ORDER BY token_id LIMIT 1 OFFSET") { // a count begins so
				<-release
			}
			return e2e.Passes
		})
		e2e.Execute(t, d.SQL(t), "UPDATE settings SET version = version + 1") // what was counted before is of another policy
		testenv.Eventually(t, e2e.Patience, func() bool {
			b.open("/console/")
			return strings.Contains(b.text(), "Being counted")
		}, "the page is there without its figures")
		if scripts {
			evaluate[bool](b, "window.stays = true")
			b.judge(testenv.Axe(t), "counting")
		}
		close(release)
		testenv.Eventually(t, e2e.Patience, func() bool { return !strings.Contains(b.text(), "Being counted") }, "the figures come by themselves")
		b.sees("Counted at")
		if scripts && !evaluate[bool](b, "window.stays === true") {
			t.Error("the page came anew instead of its figures alone")
		}
	}
}

// others are instances beside the one that runs, each with something to report.
func others(t testing.TB, d *e2e.Deployment) {
	t.Helper()
	store := &sqlstore.Instances{DB: d.Open(t)}
	well := fleet.Report{
		ID: "1", Name: "auth-1.example.org:4711", Version: release.Version(), Worker: 3, Up: 76 * time.Hour, Horizon: 840 * time.Millisecond, Bound: 5 * time.Second,
		Answers: fleet.Answers{Memory: 181220, Redis: 5902, Database: 611}, Remembered: 48211, DatabaseTook: 1842 * time.Microsecond,
		Redis: fleet.RedisGood, RedisTook: 311 * time.Microsecond, Clock: 4 * time.Millisecond,
	}
	away, blind := well, well
	away.ID, away.Name, away.Worker = "2", "auth-2.example.org:4690", 7
	blind.ID, blind.Name, blind.Worker, blind.Horizon, blind.DatabaseFailed = "3", "auth-3.example.org:17", 11, 12*time.Second, 2
	blind.Redis, blind.RedisTook, blind.Clock, blind.Answers = fleet.RedisSilent, 500*time.Millisecond, 3*time.Second, fleet.Answers{Database: 91}
	blind.Troubles = []fleet.Trouble{fleet.WorkerNoRange}
	for _, r := range []fleet.Report{well, away, blind} {
		if err := store.Tell(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	e2e.Execute(t, d.SQL(t), "UPDATE instances SET seen_at = seen_at - 40000 WHERE id = '2'")
}

// The overview of several instances is for all admins, in both languages.
func TestConsoleOverviewIsForEverybody(t *testing.T) {
	t.Parallel()
	axe := testenv.Axe(t)
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	e2e.NewAdmin(t, d, "ada", account.RoleAdmin)
	populate(t, d, 3000)
	busy(t, d)
	db := d.SQL(t)
	e2e.Execute(t, db, "INSERT INTO sweeps (id, instance, started_at, finished_at, outcome, cleared, failed_rows, detail) VALUES (1, 'auth-1.example.org:4711', ?, ?, 'done', 1843, 0, ''), "+
		"(2, 'auth-2.example.org:4690', ?, ?, 'ceiling', 200000, 3, '')", time.Now().UnixMilli()-90000, time.Now().UnixMilli()-89000, time.Now().UnixMilli()-30000, time.Now().UnixMilli()-10000)
	b := newBrowser(t, i)
	b.open("/console/")
	b.login("ada")
	silent := map[string]string{"en": "does not answer", "zh-Hans": "没有响应"} // Redis, as one of them sees it
	for _, lang := range []string{"en", "zh-Hans"} {
		if lang != "en" {
			b.press(`form[action="/console/language"] button`)
		}
		for _, look := range []struct {
			name, scheme string
			width        int64
		}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"phone", "light", 360}, {"tablet", "dark", 820}} {
			others(t, d)
			b.scheme(look.scheme)
			b.do(chromedp.EmulateViewport(look.width, 800))
			b.open("/console/")
			b.sees("auth-3.example.org:17", silent[lang])
			if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > look.width {
				t.Errorf("%s, %s: %d wide on a screen of %d", lang, look.name, wide, look.width)
			}
			if look.name != "phone" {
				b.judge(axe, lang+", "+look.name)
			}
			b.shoot("overview-instances-" + lang + "-" + look.name)
		}
	}
}
