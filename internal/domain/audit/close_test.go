//nolint:forbidigo // every Sleep is in a synctest bubble
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

// TestWhatAStopLosesIsToldAsItIs: after an hour without a database, or without what lends worker numbers, a stop loses the events
// of the hour. The log says since when, so that an operator knows where to look.
func TestWhatAStopLosesIsToldAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := &audit.Collector{Store: away{}, IDs: away{}, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, stop := context.WithCancel(t.Context())
		go c.Run(ctx)
		since := time.Now()
		for range 60 {
			c.Note(audit.Incident{Action: audit.LoginFailed, Reason: "credentials_invalid"})
			c.Note(audit.Incident{Action: audit.LoginFailed, Reason: "throttled"})
			time.Sleep(time.Minute)
		}
		stop()
		synctest.Wait()
		log.Reset()
		c.Close(t.Context())
		if got := log.String(); !strings.Contains(got, "security events not recorded") || !strings.Contains(got, "since="+since.UTC().Format("2006-01-02T15:04:05.000Z07:00")) {
			t.Errorf("the events are of an hour from %v on, and the log says: %s", since, got)
		}
	})
}

type away struct{}

func (away) AppendAll(context.Context, []audit.Event) error { return errors.New("no database") }

func (away) NextN(_ context.Context, dst []idworker.ID) (int, error) { return len(dst), nil }
