package idworkertest

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A step that has to succeed ends the test if it does not.

func acquire(t testing.TB, l idworker.Lender, d time.Duration) idworker.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), d)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return g
}

func extend(t testing.TB, l idworker.Lender, g idworker.Grant, until time.Time) idworker.Grant {
	t.Helper()
	g, err := l.Extend(t.Context(), g, until)
	if err != nil {
		t.Fatalf("extend: %v", err)
	}
	return g
}

func release(t testing.TB, l idworker.Lender, g idworker.Grant, used time.Time) {
	t.Helper()
	if err := l.Release(t.Context(), g, used); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// lost checks that a token opens nothing any more.
func lost(t testing.TB, l idworker.Lender, g idworker.Grant) {
	t.Helper()
	if _, err := l.Extend(t.Context(), g, g.Until.Add(time.Hour)); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("extend with a token of the past: got %v, want ErrLost", err)
	}
	if err := l.Release(t.Context(), g, g.From); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("release with a token of the past: got %v, want ErrLost", err)
	}
}

func crash(t testing.TB, l idworker.Lender) {
	t.Helper()
	if c, ok := l.(io.Closer); ok {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
