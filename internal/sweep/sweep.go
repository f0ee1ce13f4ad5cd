// Package sweep forgets logins that are over: the cron job that clears stale
// tokens off the users' rows.
//
// It is garbage collection. No answer depends on it, for the policy is asked at
// every request; and any number of instances may sweep at once, for each row
// is cleared by a compare-and-set.
package sweep

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/flakepass/flakepass/internal/policy"
)

// A Store clears logins that were issued, or last seen, at or before those
// instants: at most limit of them at once. Fewer than limit means none is left.
type Store interface {
	Sweep(ctx context.Context, issued, seen time.Time, limit int) (int, error)
}

// A Sweeper sweeps when the policy in force says so. Set the fields once,
// before use.
type Sweeper struct {
	Store  Store
	Policy interface{ Current() *policy.Policy }
	Log    *slog.Logger
	// Batch is how many rows one statement clears. 0 means 500.
	Batch int
	// Swept, if set, hears how many logins a pass cleared, and how long it took.
	Swept func(cleared int, took time.Duration, err error)
}

// pause lets others at the rows between two batches.
const pause = 5 * time.Millisecond

// Once runs one pass and returns how many logins it cleared, also when it
// fails: what was cleared stays so, and the next pass goes on.
func (s *Sweeper) Once(ctx context.Context) (int, error) {
	batch := s.Batch
	if batch == 0 {
		batch = 500
	}
	total := 0
	for {
		rule, now := s.Policy.Current(), time.Now()
		n, err := s.Store.Sweep(ctx, rule.OldestIssued(now), rule.OldestSeen(now), batch)
		total += n
		if err != nil {
			return total, fmt.Errorf("sweep: %w", err)
		}
		if n < batch {
			return total, nil
		}
		select {
		case <-ctx.Done():
			return total, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Run sweeps on the policy's schedule until ctx ends, and follows changes of
// the schedule within a second. It never sweeps at its start. A pass that is
// still running when the next is due makes that one wait for its next turn. Run
// returns when the last pass has stopped.
func (s *Sweeper) Run(ctx context.Context) {
	c := cron.New(cron.WithLocation(time.UTC), cron.WithLogger(cron.DiscardLogger))
	// Recover is the inner one: outside SkipIfStillRunning, a panic would leave
	// the job marked as running for ever.
	job := cron.NewChain(cron.SkipIfStillRunning(cron.DiscardLogger), s.recovered()).Then(cron.FuncJob(func() { s.pass(ctx) }))

	var entry cron.EntryID
	var known string
	follow := func() {
		spec := s.Policy.Current().Schedule
		if spec == known {
			return
		}
		known = spec
		schedule, err := ParseSchedule(spec)
		if err != nil {
			s.Log.ErrorContext(ctx, "sweep schedule not usable; the last one stays in force", "err", err)
			return
		}
		c.Remove(entry)
		entry = c.Schedule(schedule, job)
	}
	follow()
	c.Start()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			<-c.Stop().Done() // the pass sees ctx too, and stops between two batches
			return
		case <-tick.C:
			follow()
		}
	}
}

func (s *Sweeper) pass(ctx context.Context) {
	start := time.Now()
	n, err := s.Once(ctx)
	took := time.Since(start)
	if s.Swept != nil {
		s.Swept(n, took, err)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		s.Log.WarnContext(ctx, "sweep stopped early; the next one goes on", "cleared", n, "took", took, "err", err)
	case n > 0:
		s.Log.InfoContext(ctx, "swept", "cleared", n, "took", took)
	}
}

// recovered keeps a panic in one pass from ending the process.
func (s *Sweeper) recovered() cron.JobWrapper {
	return func(j cron.Job) cron.Job {
		return cron.FuncJob(func() {
			defer func() {
				if r := recover(); r != nil {
					s.Log.Error("sweep panicked; the next one goes on", "panic", fmt.Sprint(r))
				}
			}()
			j.Run()
		})
	}
}
