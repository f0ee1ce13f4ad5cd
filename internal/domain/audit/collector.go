package audit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Batch writes many events at once, all or nothing.
type Batch interface {
	AppendAll(ctx context.Context, events []Event) error
}

// A ManyIDs fills dst with new IDs and returns how many: all, unless there is an
// error.
type ManyIDs interface {
	NextN(ctx context.Context, dst []idworker.ID) (int, error)
}

// WriteEvery is how often an instance writes what it has seen.
const WriteEvery = time.Minute

// A Collector counts incidents and writes one event a minute for each kind of them,
// with their number. Incidents are of one kind that have the action, the reason,
// the target, the actor and the place in common. Set the fields once, before use.
//
// No refused client waits for it. It takes bounded memory and loses no incident: those
// of too many different kinds are summed up, see [MostKinds]. What is not written yet
// when an instance ends is lost: the last minute, or all of an outage of the database.
type Collector struct {
	Store Batch
	IDs   ManyIDs
	Now   func() time.Time
	Log   *slog.Logger
	// Place is an address as far as the record distinguishes them; nil leaves
	// it as it is.
	Place func(address string) string
	// Summed, if set, is called with the number of incidents that have no event of their
	// own, but are in a sum. It must not block.
	Summed func(n int64)

	mu      sync.Mutex
	seen    counts
	leaving time.Time     // when the first was of those that are being written; zero if none are
	writing chan struct{} // holds one thing while a write is under way; made by Flush
}

// Note counts an incident, and reports whether it is the first of its kind since
// the last write: the caller logs that one, because a line for each could flood the
// log. It does no I/O and never fails.
func (t *Collector) Note(s Incident) (first bool) {
	if t.Place != nil && s.By.Address != "" {
		s.By.Address = t.Place(s.By.Address)
	}
	s.Times = max(s.Times, 1)
	now := t.Now()
	t.mu.Lock()
	first, summed := t.seen.add(s, now, now)
	t.mu.Unlock()
	if summed && t.Summed != nil {
		t.Summed(s.Times)
	}
	return first
}

// Flush writes what was seen since the last time. If the write fails, the
// incidents stay for the next Flush. If only the answer of the database is lost, they are
// recorded twice.
// It waits for a write that is under way, as far as ctx lets it.
func (t *Collector) Flush(ctx context.Context) error {
	t.mu.Lock()
	if t.writing == nil {
		t.writing = make(chan struct{}, 1)
	}
	t.mu.Unlock()
	select {
	case t.writing <- struct{}{}:
		defer func() { <-t.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	seen := t.seen
	t.seen, t.leaving = counts{}, seen.since(time.Time{})
	t.mu.Unlock()
	if len(seen.actions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := t.write(ctx, seen.events())
	if err != nil {
		t.putBack(&seen)
	}
	t.mu.Lock()
	t.leaving = time.Time{}
	t.mu.Unlock()
	return err
}

func (t *Collector) write(ctx context.Context, events []Event) error {
	ids := make([]idworker.ID, len(events))
	if _, err := t.IDs.NextN(ctx, ids); err != nil {
		return err
	}
	for i := range events {
		events[i].ID = ids[i]
	}
	return t.Store.AppendAll(ctx, events)
}

func (t *Collector) putBack(seen *counts) {
	t.mu.Lock()
	summed := t.seen.merge(seen)
	t.mu.Unlock()
	if summed > 0 && t.Summed != nil {
		t.Summed(summed)
	}
}

// Run writes once a minute until ctx ends. It logs the first failure of a row of
// failures. What it has not written then, Close writes.
func (t *Collector) Run(ctx context.Context) {
	tick := time.NewTicker(WriteEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err := t.Flush(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				t.Log.WarnContext(ctx, "security events not recorded yet; they are kept and tried again", "err", err)
			}
			failing = err != nil
		}
	}
}

// Close writes the rest, within two seconds. Call it after the last incident, while IDs
// can still be made.
func (t *Collector) Close(ctx context.Context) {
	last, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := t.Flush(last); err != nil {
		t.mu.Lock()
		since := t.seen.since(t.leaving) // of an outage, or of the last minute
		t.mu.Unlock()
		t.Log.WarnContext(ctx, "security events not recorded; look for them in the log", "since", since.UTC(), "err", err)
	}
}
