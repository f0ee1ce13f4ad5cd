package feed_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/feed"
)

// TestClocksOfServersHideNoEnd: a database has several servers whose clocks differ by
// up to ten seconds and are set while they run. Instances poll at irregular times, move
// to other servers, stop and start. Ends are stamped on any server, and take up to a
// second from their stamp to their commit. Each poll brings every end that was committed
// before it and that this instance has not received yet.
func TestClocksOfServersHideNoEnd(t *testing.T) {
	ends, polls := 0, 0
	for seed := range uint64(100) {
		w := newServers(t, seed)
		for range 1000 {
			w.step()
		}
		ends, polls = ends+len(w.ends), polls+w.polls
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d ends, %d polls", ends, polls)
}

// servers are database servers that hold the same rows, and the instances that poll
// them, in simulated time.
type servers struct {
	t     *testing.T
	r     *rand.Rand
	now   time.Time
	off   []time.Duration // of each server's clock
	rows  map[int]int64   // the last poll of each instance that has polled, by its server's clock
	ends  []stamped
	polls int

	instances []*instance
	made      int
}

type stamped struct {
	id                 idworker.ID
	stamp, committedAt time.Time
}

type instance struct {
	w      *servers
	name   int
	server int
	feed   *feed.Feed
	since  time.Time // what was committed before need not reach it
	heard  map[idworker.ID]bool
	others map[int]seenRow
}

type seenRow struct {
	at    int64
	since time.Time
}

func newServers(t *testing.T, seed uint64) *servers {
	t.Helper()
	w := &servers{t: t, r: rand.New(rand.NewPCG(seed, 7)), now: time.UnixMilli(1_700_000_000_000), rows: map[int]int64{}}
	for range 3 {
		w.off = append(w.off, w.offset())
	}
	for range 3 {
		w.instances = append(w.instances, w.start())
	}
	return w
}

func (w *servers) offset() time.Duration {
	return time.Duration(w.r.IntN(20_001)-10_000) * time.Millisecond
}

func (w *servers) start() *instance {
	w.made++
	i := &instance{w: w, name: w.made, server: w.r.IntN(len(w.off)), since: w.now, heard: map[idworker.ID]bool{}, others: map[int]seenRow{}}
	var err error
	i.feed, err = feed.New(feed.Options{
		From: i, Bound: bound, Now: func() time.Time { return w.now },
		Learn: func(news session.News) {
			for _, e := range news.Ends {
				i.heard[e.UserID] = true
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// step lets one thing happen.
func (w *servers) step() {
	w.now = w.now.Add(time.Duration(w.r.IntN(150)) * time.Millisecond)
	i := w.instances[w.r.IntN(len(w.instances))]
	switch n := w.r.IntN(1000); {
	case n < 500:
		w.poll(i)
	case n < 980:
		stamp := w.clock(w.r.IntN(len(w.off)))
		w.ends = append(w.ends, stamped{idworker.ID(len(w.ends) + 1), stamp, w.now.Add(time.Duration(w.r.IntN(1000)) * time.Millisecond)})
	case n < 983:
		w.off[w.r.IntN(len(w.off))] = w.offset()
	case n < 986:
		i.server = w.r.IntN(len(w.off))
	case n < 988:
		w.now = w.now.Add(time.Duration(w.r.IntN(60)) * time.Second)
	case n < 990: // it stops, and its row stays
		w.instances[w.r.IntN(len(w.instances))] = w.start()
	}
}

// clock is the clock of the deployment, read on that server.
func (w *servers) clock(server int) time.Time {
	at := w.now.Add(w.off[server]).UnixMilli()
	for _, row := range w.rows {
		at = max(at, row)
	}
	return time.UnixMilli(at)
}

func (w *servers) poll(i *instance) {
	w.polls++
	if err := i.feed.Poll(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	for _, e := range w.ends {
		if e.committedAt.After(i.since) && !e.committedAt.After(w.now) && !i.heard[e.id] {
			w.t.Errorf("instance %d on server %d: end %d, stamped %v, committed %v before this poll, has not reached it",
				i.name, i.server, e.id, e.stamp.UnixMilli(), w.now.Sub(e.committedAt))
			i.heard[e.id] = true
		}
	}
}

// News is a poll as package sqlstore does it.
func (i *instance) News(_ context.Context, since time.Time, keep time.Duration) (session.News, error) {
	w := i.w
	w.rows[i.name] = w.now.Add(w.off[i.server]).UnixMilli()
	for name, at := range w.rows {
		if last, known := i.others[name]; !known || last.at != at {
			i.others[name] = seenRow{at, w.now}
		} else if name != i.name && w.now.Sub(last.since) >= 30*time.Second {
			delete(w.rows, name)
		}
	}
	news := session.News{Now: w.clock(i.server), Policy: policy.Default(), Server: string(rune('a' + i.server))}
	if since.IsZero() {
		since = news.Now.Add(-keep)
	}
	for _, e := range w.ends {
		if !e.committedAt.After(w.now) && !e.stamp.Before(since) {
			news.Ends = append(news.Ends, session.End{UserID: e.id, At: e.stamp})
		}
	}
	return news, nil
}
