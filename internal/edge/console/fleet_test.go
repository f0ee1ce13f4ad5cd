package console_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/console"
	"github.com/flakepass/flakepass/internal/edge/verb"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A roll lists the instances that a test has.
type roll struct {
	list []fleet.Seen
	err  error
}

func (r *roll) List(context.Context, int) ([]fleet.Seen, error) { return r.list, r.err }

func seen(name string, change func(*fleet.Seen)) fleet.Seen {
	s := fleet.Seen{Report: fleet.Report{
		ID: name, Name: name, Version: "1.2.3", Worker: 12, Up: 26 * time.Hour, Horizon: 900 * time.Millisecond, Bound: 5 * time.Second,
		Answers: fleet.Answers{Memory: 900, Redis: 90, Database: 10}, Remembered: 4711, DatabaseTook: 1500 * time.Microsecond,
		Redis: fleet.RedisGood, RedisTook: 300 * time.Microsecond,
	}}
	if change != nil {
		change(&s)
	}
	return s
}

// run counts in the background, as the server does, until the test ends. What a
// test sets of the world it sets before.
func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.ui.Run(ctx) })
	w.t.Cleanup(func() { cancel(); running.Wait() })
}

// home is the overview as soon as nothing is being counted any more.
func (w *world) home(query string) string {
	w.t.Helper()
	c, body := w.enter(), ""
	testenv.Eventually(w.t, time.Minute, func() bool {
		page := w.see(c, "/console/"+query)
		wantStatus(w.t, page, 200)
		body = page.Body.String()
		return !strings.Contains(body, "Being counted")
	}, "the figures are counted")
	return body
}

func wantIn(t *testing.T, page string, want ...string) {
	t.Helper()
	for _, s := range want {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %q:\n%s", s, page)
		}
	}
}

func TestOverviewShowsEveryInstance(t *testing.T) {
	w := newWorld(t)
	w.state.Self = "web-2:7"
	w.ui.Instances = &roll{list: []fleet.Seen{
		seen("web-1:7", nil),
		seen("web-2:7", func(s *fleet.Seen) {
			s.Redis, s.RedisTook, s.Clock, s.DatabaseFailed = fleet.RedisSilent, 500*time.Millisecond, 3*time.Second, 2
		}),
		seen("web-3:7", func(s *fleet.Seen) { s.Silent, s.Answers, s.Redis = 40*time.Second, fleet.Answers{}, fleet.RedisNone }),
		seen("web-4:7", func(s *fleet.Seen) {
			s.Horizon, s.Troubles, s.Clock = 12*time.Second, []fleet.Trouble{fleet.Stopping}, -200*time.Millisecond
		}),
		seen("web-5:7", func(s *fleet.Seen) { s.Horizon = -1 }),
	}}
	w.run()
	page := w.home("")
	for name, want := range map[string][]string{
		"web-1:7": {
			"Worker number 12 · 1.2.3 · up for 1 day 2 hours", "0.9 s ago, of 5 s allowed", "Memory 90 %", "Redis 9.0 %", "Database 1.0 %", "1,000 tokens accepted",
			"1,000 tokens accepted, 4,711 logins cached", "<dd>answers in 1.5 ms</dd>", "<dd>answers in 0.3 ms</dd>", "<dd>agrees with the database</dd>",
		},
		"web-2:7": {`<span class="badge">this one</span>`, `<dd class="bad">does not answer</dd>`, `<dd class="bad">3.0 s ahead of the database</dd>`, `<dd class="bad">took 2 reports of the last minute`},
		"web-3:7": {`class="late"`, "No report for 40 seconds", "No token was accepted, 4,711", "<dd>none</dd>"},
		"web-4:7": {"Not ready", `<span class="bad">stopping</span>`, `class="bad">12.0 s ago, more than the 5 s allowed: it asks the database for every token`, "<dd>0.2 s behind the database</dd>"},
		"web-5:7": {`class="bad">not yet: it asks the database for every token`},
	} {
		_, row, _ := strings.Cut(page, "<bdi>"+name+"</bdi>")
		row, _, _ = strings.Cut(row, "</tr>")
		if name == "web-3:7" {
			row = page // the row's class stands before its name
		}
		wantIn(t, row, want...)
	}
	wantIn(t, page, "5 known, 1 of them healthy.")
	if strings.Count(page, "this one") != 1 || strings.Index(page, "web-3:7") > strings.Index(page, "web-1:7") {
		t.Error("another instance is this one, or one that is silent stands below one that is well")
	}
}

func TestOverviewOfManyInstancesStaysSmall(t *testing.T) {
	w := newWorld(t)
	r := &roll{}
	for range fleet.Most {
		r.list = append(r.list, seen(strings.Repeat("long-name.", 8), func(s *fleet.Seen) { s.Troubles = []fleet.Trouble{fleet.WorkerUnfit} }))
	}
	w.ui.Instances = r
	w.run()
	page := w.home("?span=week")
	wantIn(t, page, "1000 known, 0 of them healthy.", "950 more are listed by: flakepass remote instances")
	if len(page) > 150_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

func TestOverviewWithoutReports(t *testing.T) {
	w := newWorld(t)
	w.run()
	wantIn(t, w.home(""), "No instance has reported yet.")
	w = newWorld(t)
	w.ui.Instances = &roll{err: errors.New("disk on fire")}
	w.run()
	page := w.home("")
	wantIn(t, page, "Not available now: Instances.")
	if strings.Contains(page, "disk on fire") {
		t.Error("the page shows an error of the database")
	}
}

// 100 logins began one hour after the other and were not used, so that the
// time that they have left differs by an hour each, from 14 days down.
func TestOverviewShowsWhenLoginsWillBeOver(t *testing.T) {
	w := newWorld(t)
	w.run()
	wantIn(t, w.home(""), `<p class="figure">100</p>`, "0 end within an hour, 0 within a day.", "at most 13 in a bar", "<span>7 days</span><span>14 days</span>",
		`<th scope="row">13 days 12 hours</th><td>14 days</td><td>13</td><td>13 %</td>`, `<th scope="row">0 seconds</th><td>12 hours</td><td>0</td><td>0 %</td>`, "M108 100V0h3V100Z")
	w = newWorld(t)
	w.policies.inForce.Idle = 48 * time.Hour
	w.policies.logins = append(w.policies.logins, policy.Facts{Issued: w.now.Add(-47*time.Hour - 30*time.Minute), Seen: w.now.Add(-47*time.Hour - 30*time.Minute)})
	w.run()
	wantIn(t, w.home(""), `<p class="figure">49</p>`, "2 end within an hour, 25 within a day.")
	w = newWorld(t)
	w.policies.logins = nil
	w.run()
	wantIn(t, w.home(""), "No user is logged in.")
}

// A page that is asked for while the figures are being counted does not wait
// for them: it says so, and comes again by itself.
func TestNoPageWaitsForACount(t *testing.T) {
	w := newWorld(t)
	slow := &slowFigures{Figures: w.policies, free: make(chan struct{})}
	w.ui.Figures = slow
	w.run()
	c := w.enter()
	page := w.see(c, "/console/") // would hang if it waited
	wantText(t, page, "Being counted", `<noscript><meta http-equiv="refresh" content="2"></noscript>`, `id="left-place" data-fill aria-labelledby="left" aria-busy="true"`)
	wantNoText(t, page, "Could not be found out", "Counted at")
	close(slow.free)
	done := w.home("")
	wantIn(t, done, `<p class="figure">100</p>`, "Counted at")
	if strings.Contains(done, `http-equiv="refresh"`) || strings.Contains(done, "aria-busy") {
		t.Error("the page comes again although nothing is being counted")
	}
	n := slow.counted()
	for range 5 {
		w.home("")
	}
	// The page that asked during the first count may cause one more, and that at any moment.
	if slow.counted() > n+1 {
		t.Errorf("counted %d times for those who look within seconds", slow.counted()-n)
	}
	n = slow.counted()
	w.pass(time.Minute)
	w.home("")
	if slow.counted() == n {
		t.Error("old figures are shown as if they were of now")
	}
}

// Not even on the first page, and of a database that does not answer at all.
func TestPageWaitsAGlanceAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.ui.Figures = &slowFigures{Figures: w.policies, free: make(chan struct{})}
		w.run()
		c, began := w.enter(), time.Now()
		w.see(c, "/console/")
		if took := time.Since(began); took > 50*time.Millisecond { // of a clock that only waiting moves
			t.Errorf("the page took %v", took)
		}
	})
}

// A count that fails is no count under way, and the next one may not fail.
func TestCountThatFailsIsSaid(t *testing.T) {
	w := newWorld(t)
	p := &slowFigures{Figures: w.policies, free: make(chan struct{}), err: errors.New("disk on fire")}
	close(p.free)
	w.ui.Figures = p
	w.run()
	wantIn(t, w.home(""), "Not available now: Living logins.")
	p.mu.Lock()
	p.err = nil
	p.mu.Unlock()
	w.pass(time.Minute)
	wantIn(t, w.home(""), `<p class="figure">100</p>`)
}

// A change of the policy makes the figures of before it old.
func TestFiguresAreThoseOfThePolicyInForce(t *testing.T) {
	w := newWorld(t)
	p := &inForce{Policies: w.policies, p: w.policies.inForce}
	w.ui.Policies = p
	w.run()
	wantIn(t, w.home(""), `<p class="figure">100</p>`)
	p.mu.Lock()
	p.p.Idle = 48 * time.Hour
	p.p.Version++
	p.mu.Unlock()
	wantIn(t, w.home(""), `<p class="figure">48</p>`)
}

// inForce is a policy that changes while it is asked for.
type inForce struct {
	verb.Policies
	mu sync.Mutex
	p  policy.Policy
}

func (i *inForce) Current(context.Context) (policy.Policy, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.p, nil
}

type slowFigures struct {
	console.Figures
	free chan struct{}
	mu   sync.Mutex
	n    int
	err  error
}

func (s *slowFigures) CountLogins(ctx context.Context, p policy.Policy, now time.Time) (policy.Estimate, error) {
	s.mu.Lock()
	s.n++
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return policy.Estimate{}, err
	}
	select {
	case <-s.free:
	case <-ctx.Done():
		return policy.Estimate{}, ctx.Err()
	}
	return s.Figures.CountLogins(ctx, p, now)
}

func (s *slowFigures) counted() int { s.mu.Lock(); defer s.mu.Unlock(); return s.n }
