package audit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A shelf holds events by their IDs, and takes its time.
type shelf struct {
	ids     []idworker.ID // in order
	takes   time.Duration
	fails   error
	largest int
	ahead   time.Duration // the clock of the shelf
}

func (s *shelf) Clock(context.Context) (time.Time, error) { return time.Now().Add(s.ahead), nil }

func (s *shelf) DeleteBefore(_ context.Context, before idworker.ID, limit int) (int, error) {
	if s.fails != nil {
		return 0, s.fails
	}
	time.Sleep(s.takes) //nolint:forbidigo // in a bubble
	n := 0
	for n < limit && n < len(s.ids) && s.ids[n] < before {
		n++
	}
	s.ids = s.ids[n:]
	s.largest = max(s.largest, n)
	return n, nil
}

// fill puts n events a day on the shelf, for that many days up to now.
func (s *shelf) fill(days, n int) {
	l := idworker.Default()
	for day := days; day > 0; day-- {
		first := l.Smallest(time.Now().Add(-time.Duration(day) * 24 * time.Hour))
		for i := range n {
			s.ids = append(s.ids, first+idworker.ID(i))
		}
	}
}

// TestRetentionDeletesWhatIsOldAndNothingElse follows the record over years of a
// clock of its own.
func TestRetentionDeletesWhatIsOldAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(25 * 365 * 24 * time.Hour) //nolint:forbidigo // in a bubble, which begins before our IDs do
		var log bytes.Buffer
		s := &shelf{}
		r := &audit.Retention{Store: s, Keep: 400 * 24 * time.Hour, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))}
		s.fill(500, 40)
		n, err := r.Purge(t.Context())
		if err != nil || n != 100*40 || len(s.ids) != 400*40 {
			t.Fatalf("deleted %d and kept %d, want 4000 and 16000; %v", n, len(s.ids), err)
		}
		if oldest := idworker.Default().Time(s.ids[0]); time.Since(oldest) > r.Keep {
			t.Errorf("the oldest that is left is %v old", time.Since(oldest))
		}
		if s.largest > 500 {
			t.Errorf("%d deleted at once", s.largest)
		}
		time.Sleep(24 * time.Hour) //nolint:forbidigo // in a bubble
		r.AfterSweep(t.Context())
		if len(s.ids) != 399*40 || !strings.Contains(log.String(), "deleted=40") {
			t.Errorf("a day later %d are left\n%s", len(s.ids), &log)
		}
		r.Keep = 0
		time.Sleep(10 * 365 * 24 * time.Hour) //nolint:forbidigo // in a bubble
		if n, err := r.Purge(t.Context()); n != 0 || err != nil || len(s.ids) != 399*40 {
			t.Errorf("kept for ever, and %d deleted; %v", n, err)
		}
	})
}

// TestRetentionGoesByTheClockThatIsBehind: one that is ahead by years would delete
// the whole record.
func TestRetentionGoesByTheClockThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(25 * 365 * 24 * time.Hour) //nolint:forbidigo // in a bubble
		const years = 5 * 365 * 24 * time.Hour
		for _, c := range []struct{ own, store time.Duration }{{years, 0}, {0, years}} {
			s := &shelf{ahead: c.store}
			s.fill(500, 1)
			now := func() time.Time { return time.Now().Add(c.own) }
			r := &audit.Retention{Store: s, Keep: 400 * 24 * time.Hour, Now: now, Log: slog.New(slog.DiscardHandler)}
			if n, err := r.Purge(t.Context()); n != 100 || len(s.ids) != 400 || err != nil {
				t.Errorf("clocks ahead by %v here and %v in the store: %d deleted, %d left, %v", c.own, c.store, n, len(s.ids), err)
			}
		}
	})
}

// TestPurgeRestsAndEnds: it pauses for as long as it works, ends after ten
// seconds, and the next one goes on.
func TestPurgeRestsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(25 * 365 * 24 * time.Hour) //nolint:forbidigo // in a bubble
		s := &shelf{takes: 100 * time.Millisecond}
		s.fill(10, 10_000)
		r := &audit.Retention{Store: s, Keep: 24 * time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		start := time.Now()
		n, err := r.Purge(t.Context())
		if took := time.Since(start); err != nil || took != 10*time.Second || n != 50*500 {
			t.Errorf("deleted %d in %v, want 25000 in 10s; %v", n, took, err)
		}
		if again, _ := r.Purge(t.Context()); again != n {
			t.Errorf("the next deleted %d", again)
		}
		ctx, stop := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer stop()
		if n, err := r.Purge(ctx); !errors.Is(err, context.DeadlineExceeded) || n != 500 {
			t.Errorf("when stopped, it deleted %d; %v", n, err)
		}
	})
}

// TestFailureToDeleteIsLogged: once for each sweep, and not when the process ends.
func TestFailureToDeleteIsLogged(t *testing.T) {
	var log bytes.Buffer
	r := &audit.Retention{Store: &shelf{fails: errors.New("away")}, Keep: time.Hour, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))}
	r.AfterSweep(t.Context())
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "away") {
		t.Errorf("logged: %s", &log)
	}
	log.Reset()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r.AfterSweep(ctx)
	if log.Len() > 0 {
		t.Errorf("logged at the end: %s", &log)
	}
}
