//nolint:forbidigo // every sleep is of a synctest bubble
package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
)

// A store keeps the reports.
type store struct {
	mu       sync.Mutex
	reported []fleet.Report
	left     []string
	cleaned  int
	err      error
	hang     bool
	ahead    time.Duration // of its clock
	longest  time.Duration // bound
}

func (s *store) Tell(ctx context.Context, r fleet.Report) error {
	s.mu.Lock()
	hang := s.hang
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.reported = append(s.reported, r)
	return nil
}

func (s *store) Leave(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.left = append(s.left, id)
	return s.err
}

func (s *store) Clean(context.Context, time.Duration) (time.Time, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleaned++
	return time.Now().Add(s.ahead), s.longest, s.err
}

func (s *store) set(f func()) { s.mu.Lock(); defer s.mu.Unlock(); f() }

func (s *store) reports() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.reported) }

func (s *store) last() fleet.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reported[len(s.reported)-1]
}

// run runs f beside a reporter that begins with 1,000 answers and gets 10 more
// by the second, and returns what it has logged.
func run(t *testing.T, f func(t *testing.T, s *store)) string {
	t.Helper()
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s, began := &store{ahead: -3 * time.Second}, time.Now()
		r := &fleet.Reporter{
			Store: s, ID: "me", Log: slog.New(slog.NewTextHandler(&log, nil)),
			State: func(context.Context) fleet.Report {
				return fleet.Report{Worker: 7, Bound: 5 * time.Second, Answers: fleet.Answers{Memory: 1000 + 10*uint64(time.Since(began)/time.Second)}}
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		synctest.Wait()
		f(t, s)
		cancel()
		running.Wait()
		s.set(func() {
			if len(s.left) != 1 || s.left[0] != "me" {
				t.Errorf("left as %q", s.left)
			}
		})
	})
	return log.String()
}

// TestLongerBoundOfAnotherIsLoggedOnce: what an instance acknowledges has to be true on all.
func TestLongerBoundOfAnotherIsLoggedOnce(t *testing.T) {
	log := run(t, func(t *testing.T, s *store) {
		for _, bound := range []time.Duration{5, 5, 12, 12, 12, 2, 12, 30} {
			s.set(func() { s.longest = bound * time.Second })
			time.Sleep(time.Minute)
			synctest.Wait()
		}
	})
	if n := strings.Count(log, "here=5s there=12s"); n != 2 || strings.Count(log, "longer FLAKEPASS_REVOCATION_BOUND") != 3 || !strings.Contains(log, "there=30s") {
		t.Errorf("logged: %s", log)
	}
}

func TestReportsComeAtOnceAndEveryFewSeconds(t *testing.T) {
	log := run(t, func(t *testing.T, s *store) {
		if r := s.last(); s.reports() != 1 || r.ID != "me" || r.Worker != 7 || r.Clock != 3*time.Second {
			t.Fatalf("at the start: %+v", r)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := s.reports(); n != 721 {
			t.Errorf("%d reports in an hour", n)
		}
		s.set(func() {
			if s.cleaned < 60 || s.cleaned > 62 {
				t.Errorf("cleaned up %d times in an hour", s.cleaned)
			}
		})
	})
	if log != "" {
		t.Errorf("logged %s", log)
	}
}

// The answers are those of the last minute, also after a pause, and of all the
// time as long as that is less.
func TestAnswersAreThoseOfTheLastMinute(t *testing.T) {
	run(t, func(t *testing.T, s *store) {
		for _, tt := range []struct {
			after time.Duration
			want  uint64
		}{{0, 1000}, {5 * time.Second, 1050}, {50 * time.Second, 1550}, {time.Minute, 600}, {time.Hour, 600}} {
			time.Sleep(tt.after)
			synctest.Wait()
			if got := s.last().Answers.Memory; got != tt.want {
				t.Errorf("after %v more: %d, want %d", tt.after, got, tt.want)
			}
		}
		s.set(func() { s.err = errors.New("disk on fire") })
		time.Sleep(10 * time.Minute)
		s.set(func() { s.err = nil })
		time.Sleep(10 * time.Second)
		if got := s.last().Answers.Memory; got != 600 {
			t.Errorf("after a pause: %d", got)
		}
	})
}

// A store that fails or hangs stops nothing, is logged afterwards, and fills no
// log.
func TestReportsThatFailAreCounted(t *testing.T) {
	log := run(t, func(t *testing.T, s *store) {
		s.set(func() { s.err = errors.New("disk on fire") })
		time.Sleep(30*time.Second + time.Millisecond)
		synctest.Wait()
		s.set(func() { s.err, s.hang = nil, true })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		s.set(func() { s.hang = false })
		n := s.reports()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if s.reports() != n+1 || s.last().DatabaseFailed != 8 {
			t.Errorf("%d more, the last with %d failures", s.reports()-n, s.last().DatabaseFailed)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := s.last().DatabaseFailed; got != 0 {
			t.Errorf("a minute later: %d failures", got)
		}
	})
	if n := strings.Count(log, "could not report"); n != 1 {
		t.Errorf("logged %d times: %s", n, log)
	}
}

// A report that is under way at the end is not cut off, since it might arrive
// after the word that the instance has left, and it is not waited for for long.
func TestEndDoesNotWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{hang: true}
		r := &fleet.Reporter{Store: s, ID: "me", Log: slog.New(slog.DiscardHandler), State: func(context.Context) fleet.Report { return fleet.Report{} }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { r.Run(ctx); close(ended) }()
		synctest.Wait()
		began := time.Now()
		cancel()
		<-ended
		if took := time.Since(began); took < time.Second || took > 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
