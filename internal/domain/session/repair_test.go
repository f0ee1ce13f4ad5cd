package session_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

type repairRows struct {
	fails int
	known []session.End
	all   idworker.ID
	event audit.Event
	done  chan struct{}
}

func (r *repairRows) EndAgain(_ context.Context, known []session.End, all idworker.ID, event audit.Event) (session.Lost, error) {
	if r.fails--; r.fails >= 0 {
		return session.Lost{}, errors.New("no route")
	}
	r.known, r.all, r.event = known, all, event
	close(r.done)
	return session.Lost{Ends: 1}, nil
}

// TestRepairIsTriedUntilItIsDone: what is remembered is ended again, counted, and on
// record as an act of the program.
func TestRepairIsTriedUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows, counted := &repairRows{fails: 3, done: make(chan struct{})}, 0
		r := session.NewRepair()
		r.Known, r.All = func() []session.End { return []session.End{{UserID: 7, Floor: 8}} }, func() idworker.ID { return 5 }
		r.Rows, r.EventIDs, r.Log = rows, &numbers{}, slog.New(slog.DiscardHandler)
		r.Repaired = func(n int) { counted += n }
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { r.Run(ctx); close(ended) }()
		r.Soon()
		r.Soon() // waits for nothing
		<-rows.done
		stop()
		<-ended
		if len(rows.known) != 1 || rows.all != 5 || counted != 1 || rows.event.Action != audit.CommitsLost || !rows.event.By.Inside() || rows.event.ID == 0 {
			t.Errorf("known %v, all %v, counted %d, event %+v", rows.known, rows.all, counted, rows.event)
		}
	})
}

type numbers struct{ last idworker.ID }

func (c *numbers) Next(context.Context) (idworker.ID, error) { c.last++; return c.last, nil }
