package fleet

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"
)

// patience is how long one report may take; cleaning up, as well.
const patience = 2 * time.Second

// cleanEvery is how often an instance removes the reports of those that are
// gone, and compares its clock.
const cleanEvery = time.Minute

// A Reporter reports for one instance. Set the fields once, before use.
//
// It costs the database one small write every 5 s, and one read a minute.
type Reporter struct {
	Store Store
	ID    string // of this run of the process; see [NewID]
	// State says how this instance is doing. It takes a second at most. The
	// Reporter adds what it knows better: ID, Answers of the last minute, Clock and
	// what the database did.
	State func(ctx context.Context) Report
	Log   *slog.Logger

	cleaned time.Time     // zero: never
	longest time.Duration // the bound that the log has warned of
	clock   time.Duration
	took    time.Duration
	counted window
	failed  []time.Time
}

// NewID returns an ID for a run of a process. It is no secret.
func NewID() string { return rand.Text() }

// Run reports until ctx ends. Then it waits for a report that is under way, and removes the
// report of this instance, which takes a second at most. Where several reports fail one after
// the other, it logs the first failure.
func (p *Reporter) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	failing := false
	for {
		// A report that is under way at the end is waited for: the database might
		// write one that was cut off after this instance has left.
		err := p.report(context.WithoutCancel(ctx))
		if err != nil && !failing && ctx.Err() == nil {
			p.Log.WarnContext(ctx, "this instance could not report how it is doing; nothing depends on it, but other instances show it as missing", "err", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience/2)
			defer cancel()
			_ = p.Store.Leave(last, p.ID) // else the others forget it
			return
		case <-tick.C:
		}
	}
}

// report writes how this instance is doing.
func (p *Reporter) report(ctx context.Context) error {
	r, now := p.State(ctx), time.Now()
	p.failed = recent(p.failed, now)
	r.ID, r.Answers, r.DatabaseFailed = p.ID, p.counted.add(now, r.Answers), len(p.failed)
	err := p.write(ctx, r, now)
	if err != nil {
		p.failed = append(p.failed, now)
	}
	return err
}

func (p *Reporter) write(ctx context.Context, r Report, now time.Time) error {
	if p.cleaned.IsZero() || now.Sub(p.cleaned) >= cleanEvery {
		if err := p.clean(ctx, r.Bound); err != nil {
			return err
		}
		p.cleaned = now
	}
	r.Clock, r.DatabaseTook = p.clock, p.took
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	if err := p.Store.Tell(ctx, r); err != nil {
		return err
	}
	p.took = time.Since(began)
	return nil
}

// clean removes who is gone, and compares the bounds and the clocks. The store's is that of the
// middle of the question, and as uncertain as half of how long it took; an
// answer that took long says nothing.
func (p *Reporter) clean(ctx context.Context, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	there, longest, err := p.Store.Clean(ctx, Gone)
	if err != nil {
		return err
	}
	if longest > bound && longest != p.longest {
		p.Log.WarnContext(ctx, "another instance has a longer FLAKEPASS_REVOCATION_BOUND: what this one acknowledges is true there only within that; give all the same",
			"here", bound, "there", longest)
	}
	p.longest = longest
	if took := time.Since(began); took < time.Second {
		p.clock = began.Add(took / 2).Round(0).Sub(there.Round(0))
		p.took = took
	}
	return nil
}

// recent is what lies within the last minute.
func recent(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) > time.Minute {
		times = times[1:]
	}
	return times
}

// A window turns counts since the start into those of the last minute.
type window struct {
	at     []time.Time
	counts []Answers
}

// add notes the counts of now, and returns how many came in the minute before.
func (w *window) add(now time.Time, c Answers) Answers {
	// The oldest that is kept is the last that is a minute old, or the first of all.
	for len(w.at) > 1 && now.Sub(w.at[1]) >= time.Minute {
		w.at, w.counts = w.at[1:], w.counts[1:]
	}
	w.at, w.counts = append(w.at, now), append(w.counts, c)
	since := w.counts[0]
	if now.Sub(w.at[0]) < time.Minute { // all there is
		since = Answers{}
	}
	return Answers{c.Memory - since.Memory, c.Redis - since.Redis, c.Database - since.Database}
}
