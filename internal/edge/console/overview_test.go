package console_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/console"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func TestOverviewShowsHowItIsDoing(t *testing.T) {
	w := newWorld(t)
	w.state = console.State{
		Version: "1.2.3", Up: 26 * time.Hour, Database: "mysql db:3306/x", Redis: fleet.RedisGood, RedisPlace: "redis:6379", Worker: 12, Horizon: 1200 * time.Millisecond, Bound: 5 * time.Second,
		Answers: fleet.Answers{Memory: 900, Redis: 90, Database: 10}, Sweeps: []sweep.Report{{Started: w.now, Finished: w.now.Add(time.Second), Outcome: "done", Cleared: 1234}},
	}
	w.counts.counts = []activity.Count{{Hour: w.now.Truncate(time.Hour), Kind: activity.Login, N: 1500}, {Hour: w.now.Add(-time.Hour).Truncate(time.Hour), Kind: activity.Login, N: 500}}
	w.run()
	wantIn(t, w.home(""), `<p class="figure">100</p>`, "Ready", "mysql db:3306/x", "redis:6379", "<dd>12</dd>", "1.2 s ago", "90 %", "9.0 %", "1.0 %", "1,234",
		"2,000 in all, at most 1,500 an hour", `d="M88 100V66.7h3V100ZM92 100V0h3V100Z"`, "up for 1 day 2 hours")
	w.state.Reasons = []fleet.Trouble{fleet.DatabaseSilent}
	w.state.Horizon = -1
	wantIn(t, w.home(""), "Not ready", "the database does not answer", `<dd class="bad">not yet</dd>`)
	wantIn(t, w.home("?span=week"), "7 days ago")
}

func TestOverviewSaysWhatItCouldNotFindOut(t *testing.T) {
	w := newWorld(t)
	w.counts.err = errors.New("disk on fire")
	w.policies.err = errors.New("disk on fire")
	w.run()
	page := w.home("")
	wantIn(t, page, "Not available now: Living logins, Activity.")
	if strings.Contains(page, "disk on fire") || strings.Contains(page, "http-equiv") {
		t.Errorf("the page shows an error of the database, or comes again for nothing:\n%s", page)
	}
}

func TestFirstMinuteSaysWhatComesNext(t *testing.T) {
	w := newWorld(t)
	w.policies.logins = w.policies.logins[:1]
	w.run()
	page := w.home("")
	wantIn(t, page, "You are the only user who is logged in", "flakepass user add NAME", `<a href="/console/users">Create accounts</a>`, "unless FLAKEPASS_REGISTRATION is closed")
	if strings.Contains(page, "allow registration") {
		t.Error("it is allowed where nothing is set")
	}
	w = newWorld(t)
	w.run()
	if strings.Contains(w.home(""), "You are the only user who is logged in") {
		t.Error("said of 100 logins")
	}
}

// No page needs more than five requests or 150 kB.
func TestPagesAreSmall(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	w.record.events = happened(100)
	w.counts.counts = nil
	for i := range 168 {
		for _, k := range activity.Kinds {
			w.counts.counts = append(w.counts.counts, activity.Count{Hour: w.now.Truncate(time.Hour).Add(-time.Duration(i) * time.Hour), Kind: k, N: int64(1e6 + i*7919)})
		}
	}
	for _, path := range []string{"/console/login?why=left", "/console/", "/console/?span=week", "/console/expiry", "/console/audit"} {
		page := w.see(c, path)
		if strings.HasPrefix(path, "/console/login") {
			page = w.get(path)
		}
		size, requests := page.Body.Len(), 1
		for _, m := range loads.FindAllStringSubmatch(page.Body.String(), -1) {
			if strings.HasPrefix(m[1], "/console/assets/") {
				asset := w.get(m[1])
				if got := asset.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
					t.Errorf("%s is fetched anew each time: %q", m[1], got)
				}
				size += asset.Body.Len()
				requests++
			}
		}
		t.Logf("%s: %d requests, %d bytes", path, requests, size)
		if requests > 5 || size > 150_000 {
			t.Errorf("%s: %d requests, %d bytes", path, requests, size)
		}
	}
}

func BenchmarkPages(b *testing.B) {
	w := newWorld(b)
	c := w.enter()
	w.record.events = happened(100)
	for _, path := range []string{"/console/", "/console/?span=week", "/console/expiry", "/console/audit"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				w.see(c, path)
			}
		})
	}
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
