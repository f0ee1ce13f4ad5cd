package activity_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/activity"
)

// A store keeps counts in memory.
type store struct {
	mu     sync.Mutex
	counts map[activity.Count]int64 // by hour and kind
	err    error
	pruned time.Time
}

func (s *store) Add(_ context.Context, instance string, counts []activity.Count) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	for _, c := range counts {
		n := c.N
		c.N = 0
		s.counts[c] += n
	}
	return nil
}

func (s *store) Prune(_ context.Context, before time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned = before
	return nil
}

func (s *store) total(k activity.Kind) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, m := range s.counts {
		if c.Kind == k {
			n += m
		}
	}
	return n
}

func newCounter() (*store, *activity.Counter) {
	s := &store{counts: map[activity.Count]int64{}}
	return s, &activity.Counter{Store: s, Instance: "0", Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

func TestCountsAreWrittenOnceAMinuteAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newCounter()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		for range 10 {
			c.Add(activity.Login, 1)
		}
		c.Add(activity.Expired, 500)
		time.Sleep(activity.Every + time.Second) //nolint:forbidigo // of the bubble's clock
		if s.total(activity.Login) != 10 || s.total(activity.Expired) != 500 || s.total(activity.Logout) != 0 {
			t.Errorf("after a minute: %v", s.counts)
		}
		s.mu.Lock()
		if want := time.Now().Add(-activity.Keep - time.Second); !s.pruned.Equal(want) {
			t.Errorf("pruned before %v, want %v", s.pruned, want)
		}
		s.mu.Unlock()
		c.Add(activity.Login, 3)
		cancel()
		running.Wait()
		if s.total(activity.Login) != 13 {
			t.Errorf("at the end: %v", s.counts)
		}
	})
}

func TestCountsOutliveAnOutage(t *testing.T) {
	s, c := newCounter()
	s.err = errors.New("the database is away")
	c.Add(activity.Refused, 2)
	if err := c.Flush(t.Context()); !errors.Is(err, s.err) {
		t.Errorf("Flush = %v", err)
	}
	s.err = nil
	c.Add(activity.Refused, 1)
	if err := c.Flush(t.Context()); err != nil || s.total(activity.Refused) != 3 {
		t.Errorf("Flush = %v, then %v", err, s.counts)
	}
}

func TestCountingIsSafeForManyAtOnce(t *testing.T) {
	s, c := newCounter()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				c.Add(activity.Login, 1)
			}
			_ = c.Flush(t.Context())
		})
	}
	all.Wait()
	if err := c.Flush(t.Context()); err != nil || s.total(activity.Login) != 8000 {
		t.Errorf("Flush = %v, %v", err, s.counts)
	}
}
