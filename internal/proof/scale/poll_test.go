package scale

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

const (
	bound  = 5 * time.Second
	window = 7 * time.Second // of one poll: a second since the last, and six of overlap
)

// poll asks for the news as a feed that polls once a second does.
func (d *deployment) poll(t testing.TB, w *stopwatch, now time.Time) session.News {
	t.Helper()
	var news session.News
	w.lap(t, func() (err error) {
		news, err = d.sessions.News(t.Context(), now.Add(-window), time.Minute)
		return err
	})
	return news
}

// polls measures the feed: while nothing ends, and while logouts come.
func (d *deployment) polls(t testing.TB, logouts int, rate int) {
	t.Helper()
	var warm, idle stopwatch
	news := d.poll(t, &warm, time.Now())
	times := 100
	if d.big {
		times = 2000
	}
	before, looked := d.asked(t)
	for range times {
		if news = d.poll(t, &idle, news.Now); len(news.Ends) != 0 {
			t.Fatalf("a poll brought %d ends, of which there were none", len(news.Ends))
		}
	}
	after, lookedAt := d.asked(t)
	d.mustGoBy(t, "SELECT id AS user_id, 0 AS slot, token_floor", "range", "users_token_floor_at")
	if after-before != 3*times || lookedAt-looked > 2*times {
		t.Errorf("%d polls: %d questions, %d rows looked at; want 3 questions, and the rows of the settings and of the limits", times, after-before, lookedAt-looked)
	}
	d.quantiles("poll, nothing ends", &idle)

	began := news.Now
	var busy, ends stopwatch
	other := d.instance(t).sessions
	most, start := 0, time.Now()
	done := make(chan struct{})
	go func() { defer close(done); d.logout(t, other, &ends, logouts, rate, 0) }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for going := true; going; {
		select {
		case <-done:
			going = false
		case <-tick.C:
			news = d.poll(t, &busy, news.Now)
			most = max(most, len(news.Ends))
		}
	}
	took := time.Since(start)
	if ends.failed > 0 && !d.big { // a flooded server may run out of time
		t.Errorf("%d of %d logouts failed: %v", ends.failed, logouts, ends.first)
	}
	d.number("logouts reached while polling", float64(logouts)/took.Seconds(), "/s")
	d.quantiles("logout", &ends)
	d.quantiles("poll, amid logouts", &busy)
	d.number("poll, amid logouts: ends in one, at most", float64(most), "")

	_, looked = d.asked(t)
	news, err := d.sessions.News(t.Context(), began, time.Minute)
	must(t, err)
	_, lookedAt = d.asked(t)
	d.mustGoBy(t, "SELECT id AS user_id, 0 AS slot, token_floor", "range", "users_token_floor_at")
	// Of what failed, it is unknown whether it ended.
	if n := len(news.Ends); n > logouts || n < logouts-ends.failed || lookedAt-looked > n+2 {
		t.Errorf("%d logouts: the news has %d, and %d rows were looked at; want each once, and the settings and the limits", logouts, len(news.Ends), lookedAt-looked)
	}
}

// logout ends n logins, those after the first from, at a steady rate, as far as the server keeps
// up, through another instance: who polls does not wait for its connections.
func (d *deployment) logout(t testing.TB, other *sqlstore.Sessions, w *stopwatch, n, rate, from int) {
	who := make(chan int, n)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := range who {
				p := d.at(i)
				start := time.Now()
				_, err := other.End(t.Context(), session.Ending{ID: idworker.ID(p.token), Hash: p.hash, Reason: session.LoggedOut})
				w.note(time.Since(start), err)
			}
		})
	}
	const step = 10 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	each := max(1, rate*int(step/time.Millisecond)/1000)
	for k := range n {
		who <- (from+k)*7_919%(d.n/10)*10 + 1 // living, and not of the sample
		if k%each == each-1 {
			<-tick.C
		}
	}
	close(who)
	all.Wait()
}

// cost measures what three instances that poll cost the server.
func (d *deployment) cost(t testing.TB, span time.Duration) {
	t.Helper()
	const instances = 3
	used := func() (time.Duration, int) {
		cpu, start := d.mysqld(t), time.Now()
		from, _ := d.counted(t)
		<-time.After(span)
		to, _ := d.counted(t)
		return time.Duration(float64(d.mysqld(t)-cpu) / time.Since(start).Seconds()), to - from
	}
	none, _ := used()
	var polls stopwatch
	var running sync.WaitGroup
	stop := make(chan struct{})
	for range instances {
		f := d.follow(t, func(took time.Duration, _ int, err error) { polls.note(took, err) })
		ctx, cancel := withStop(t, stop)
		running.Go(func() { defer cancel(); f.Run(ctx) })
	}
	three, asked := used()
	close(stop)
	running.Wait()
	d.add("mysqld's CPU in one second, without polls", none.Seconds(), brief(none))
	d.add("mysqld's CPU in one second, three instances poll", three.Seconds(), brief(three))
	d.number("questions per instance and second", float64(asked)/instances/span.Seconds(), "")
	d.quantiles("poll of a running feed, policy included", &polls)
}

// follow is the feed of one more instance, with connections and a policy of its
// own.
func (d *deployment) follow(t testing.TB, polled func(time.Duration, int, error)) *feed.Feed {
	t.Helper()
	i := d.instance(t)
	rule, err := policy.NewLive(t.Context(), i.settings)
	must(t, err)
	f, err := feed.New(feed.Options{
		From: i.sessions, Policy: rule.Follow(slog.New(slog.DiscardHandler)), Learn: func(session.News) {}, Bound: bound, Polled: polled,
	})
	must(t, err)
	return f
}
