package run

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

var unreachable = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}

// opening fails with err until the time is over.
func opening(err error, until time.Duration) (open func(context.Context) (*sqlstore.DB, error), tries *int) {
	began, n := time.Now(), 0
	return func(context.Context) (*sqlstore.DB, error) {
		n++
		if time.Since(began) < until {
			return nil, err
		}
		return &sqlstore.DB{}, nil
	}, &n
}

// TestAStartWaitsForItsDatabase: it says so at first and every ten seconds, and goes on
// as soon as the database is there.
func TestAStartWaitsForItsDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		open, _ := opening(unreachable, 25*time.Second)
		began := time.Now()
		db, err := patiently(t.Context(), time.Minute, slog.New(slog.NewTextHandler(&log, nil)), open)
		if db == nil || err != nil || time.Since(began) > 26*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		for _, text := range []string{"at_most=1m0s", "at_most=50s", "at_most=40s", "waited=25s", "connection refused"} {
			if !strings.Contains(log.String(), text) {
				t.Errorf("the log does not say %s", text)
			}
		}
		if n := strings.Count(log.String(), "waiting for a database"); n != 3 {
			t.Errorf("%d lines of waiting; want 3", n)
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

// TestAStartWaitsAsLongAsItIsTold: with 0 not at all, and no longer than the limit.
func TestAStartWaitsAsLongAsItIsTold(t *testing.T) {
	for _, limit := range []time.Duration{0, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			open, tries := opening(unreachable, time.Hour)
			began := time.Now()
			_, err := patiently(t.Context(), limit, slog.New(slog.DiscardHandler), open)
			if took := time.Since(began); !errors.Is(err, syscall.ECONNREFUSED) || took != limit || limit == 0 && *tries != 1 {
				t.Errorf("limit %v: %v after %v and %d tries", limit, err, took, *tries)
			}
		})
	}
}

// TestAWaitingStartCanBeStopped: at once, with the error of its context.
func TestAWaitingStartCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 1200*time.Millisecond, nil)
		defer cancel()
		open, _ := opening(unreachable, time.Hour)
		began := time.Now()
		_, err := patiently(ctx, time.Minute, slog.New(slog.DiscardHandler), open)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 1200*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
	})
}
