package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
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

const (
	// TallyEvery is how often an instance writes what it has seen.
	TallyEvery = time.Minute
	// TallyMost is how many different sightings it keeps apart between two writes:
	// a flood from everywhere writes no more rows than these.
	TallyMost = 500
)

// A Tally counts sightings and writes one event a minute for each kind of them,
// with their number. Sightings are of one kind that have the action, the reason,
// the target, the actor and the place in common. Set the fields once, before use.
//
// Nobody who is refused waits for it, and it takes a bounded room: a sighting
// for which there is none left is counted, and the next write says how many were
// lost, in an event of its own. An instance that is killed takes its last minute
// along.
type Tally struct {
	Store Batch
	IDs   ManyIDs
	Now   func() time.Time
	Log   *slog.Logger
	// Place is an address as far as the record tells one from another; nil leaves
	// it as it is.
	Place func(address string) string
	// Lost, if set, hears of each sighting that is not recorded. It must not block.
	Lost func(n int64)

	mu      sync.Mutex
	seen    map[sightingKind]*sightings
	lost    int64
	writing chan struct{} // holds one thing while a write is under way; made by Flush
}

// sightingKind is what sightings have in common.
type sightingKind struct {
	action Action
	reason string
	target Target
	by     By // without the request
}

type sightings struct {
	Sighting
	first, last time.Time
}

// Note counts a sighting, and reports whether it is the first of its kind since
// the last write: that is the one to log where a line for each would be a flood,
// too. It does no I/O and never fails.
func (t *Tally) Note(s Sighting) (first bool) {
	if t.Place != nil && s.By.Address != "" {
		s.By.Address = t.Place(s.By.Address)
	}
	s.Times = max(s.Times, 1)
	now := t.Now()
	t.mu.Lock()
	before := len(t.seen)
	kept := t.add(s, now, now)
	first = len(t.seen) > before
	t.mu.Unlock()
	if !kept && t.Lost != nil {
		t.Lost(s.Times)
	}
	return first
}

// add is called with mu locked, and reports false if there is no room.
func (t *Tally) add(s Sighting, first, last time.Time) bool {
	k := sightingKind{s.Action, s.Reason, s.Target, s.By}
	k.by.RequestID = ""
	if known := t.seen[k]; known != nil {
		known.Times += s.Times
		if first.Before(known.first) {
			known.first, known.By.RequestID = first, s.By.RequestID
		}
		if last.After(known.last) {
			known.last = last
		}
		return true
	}
	if len(t.seen) >= TallyMost {
		t.lost += s.Times
		return false
	}
	if t.seen == nil {
		t.seen = map[sightingKind]*sightings{}
	}
	t.seen[k] = &sightings{s, first, last}
	return true
}

// Flush writes what was seen since the last time. What cannot be written is
// kept, as far as there is room, and is tried again with what comes until then.
// If the answer of the database got lost, what it has written is written twice.
// It waits for a write that is under way, as far as ctx lets it.
func (t *Tally) Flush(ctx context.Context) error {
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
	seen, lost := t.seen, t.lost
	t.seen, t.lost = nil, 0
	t.mu.Unlock()
	if len(seen) == 0 && lost == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := t.write(ctx, seen, lost)
	if err != nil {
		t.putBack(seen, lost)
	}
	return err
}

func (t *Tally) write(ctx context.Context, seen map[sightingKind]*sightings, lost int64) error {
	events := make([]Event, 0, len(seen)+1)
	for _, s := range seen {
		// Three texts and a number cannot fail to be JSON.
		value, _ := json.Marshal(struct {
			Count int64     `json:"count"`
			First time.Time `json:"first_at"`
			Last  time.Time `json:"last_at"`
		}{s.Times, s.first.UTC().Truncate(time.Millisecond), s.last.UTC().Truncate(time.Millisecond)})
		events = append(events, Event{By: s.By, Action: s.Action, Target: s.Target, Reason: s.Reason, New: value})
	}
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Action, b.Action), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Target.ID, b.Target.ID), cmp.Compare(a.By.Address, b.By.Address))
	})
	if lost > 0 {
		value, _ := json.Marshal(struct {
			Count int64 `json:"count"`
		}{lost})
		events = append(events, Event{By: By{Name: "flakepass", Via: ViaServer}, Action: RecordIncomplete, Reason: "more than could be kept apart", New: value})
	}
	ids := make([]idworker.ID, len(events))
	if _, err := t.IDs.NextN(ctx, ids); err != nil {
		return err
	}
	for i := range events {
		events[i].ID = ids[i]
	}
	return t.Store.AppendAll(ctx, events)
}

func (t *Tally) putBack(seen map[sightingKind]*sightings, lost int64) {
	dropped := int64(0)
	t.mu.Lock()
	t.lost += lost
	for _, s := range seen {
		if !t.add(s.Sighting, s.first, s.last) {
			dropped += s.Times
		}
	}
	t.mu.Unlock()
	if dropped > 0 && t.Lost != nil {
		t.Lost(dropped)
	}
}

// Run writes once a minute until ctx ends. It logs the first failure of a row of
// failures. What it has not written then, Close writes.
func (t *Tally) Run(ctx context.Context) {
	tick := time.NewTicker(TallyEvery)
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

// Close writes what is left, when nobody will note anything more, within two
// seconds. The IDs must still be there.
func (t *Tally) Close(ctx context.Context) {
	last, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := t.Flush(last); err != nil {
		t.Log.WarnContext(ctx, "security events of the last minute not recorded; look for them in the log", "err", err)
	}
}
