//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package zkworker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestEachKindOfTroubleIsLoggedOnceAMinute: the library tries to connect each second, and says
// each time that it failed.
func TestEachKindOfTroubleIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := &logger{log: slog.New(slog.NewTextHandler(&b, nil)), last: map[string]time.Time{}}
		for range 150 {
			l.Printf("failed to connect to %s", "a")
			l.Printf("authentication failed: %v", "EOF")
			time.Sleep(time.Second)
		}
		if n, m := strings.Count(b.String(), "failed to connect to a"), strings.Count(b.String(), "EOF"); n != 3 || m != 3 {
			t.Errorf("150 times in 150 s: %d and %d lines, want 3 of each kind", n, m)
		}
	})
}
