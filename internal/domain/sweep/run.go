package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A job is a pass that has the lease and is to begin.
type job struct {
	report Report
	from   Cursor
}

// Run sweeps on the policy's schedule until ctx ends, and follows changes of
// the schedule within a second. It never sweeps at its start. A pass that is
// still running when the next is due makes that one wait for its next turn. Run
// returns when the last pass has stopped.
func (s *Sweeper) Run(ctx context.Context) {
	inbox := s.open()
	var requested sync.WaitGroup
	defer requested.Wait()
	defer s.shut(func(j job) { s.run(ctx, j) })

	c := cron.New(cron.WithLocation(time.UTC), cron.WithLogger(cron.DiscardLogger))
	// A panic ends inside: outside SkipIfStillRunning, it would leave the job marked
	// as running for ever.
	job := cron.SkipIfStillRunning(cron.DiscardLogger)(cron.FuncJob(func() {
		if err := guarded(func() error { s.scheduled(ctx); return nil }); err != nil {
			s.Log.ErrorContext(ctx, "sweep panicked; the next one goes on", "panic", err)
		}
	}))

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
	wall, since := s.now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			<-c.Stop().Done() // the pass sees ctx too, and stops between two batches
			return
		case j := <-inbox:
			requested.Go(func() { s.run(ctx, j) })
		case <-tick.C:
			// cron waits by a clock that knows no steps: after one, what it waits for
			// is another moment.
			at := s.now()
			if stepped := at.Round(0).Sub(wall.Round(0)) - time.Since(since); stepped.Abs() > maxStep {
				known = ""
			}
			wall, since = at, time.Now()
			follow()
		}
	}
}

// maxStep is by how much the clock on the wall may be set without notice.
const maxStep = 2 * time.Second

func (s *Sweeper) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// Once runs a pass now and returns when it has ended. It is on record who asked for
// it. It fails with [ErrRunning]; what went wrong later is in the report.
func (s *Sweeper) Once(ctx context.Context, by audit.Actor) (Report, error) {
	j, err := s.take(ctx, &by)
	if err != nil {
		return Report{}, err
	}
	return s.run(ctx, j), nil
}

// scheduled runs a pass unless there is one already.
func (s *Sweeper) scheduled(ctx context.Context) {
	j, err := s.take(ctx, nil)
	switch {
	case err == nil:
		s.run(ctx, j)
	case errors.Is(err, ErrRunning):
		if s.Skipped != nil {
			s.Skipped()
		}
	case ctx.Err() == nil:
		s.Log.WarnContext(ctx, "sweep not begun; the next one is tried", "err", err)
		if s.Swept != nil {
			now := time.Now()
			s.Swept(Report{Instance: s.Instance, Started: now, Finished: now, Outcome: Failed})
		}
	}
}

// take gets the lease for a new pass, which by has requested; nil: none. Until that pass has
// walked, this instance takes no other: by then it may have lost its lease, and not know that.
func (s *Sweeper) take(ctx context.Context, by *audit.Actor) (job, error) {
	if !s.walking.CompareAndSwap(false, true) {
		return job{}, fmt.Errorf("sweep: %w", ErrRunning)
	}
	taken := false
	defer func() {
		if !taken {
			s.walking.Store(false)
		}
	}()
	id, err := s.IDs.Next(ctx)
	if err != nil {
		return job{}, fmt.Errorf("sweep: %w", err)
	}
	r := Report{ID: id, Instance: s.Instance, Started: time.Now(), Outcome: Running}
	var event *audit.Event
	if by != nil {
		r.RequestedBy = cmp.Or(by.Name, "unknown")
		e, err := audit.New(ctx, s.IDs, *by, audit.NeedsAdmin, audit.SweepRequested, audit.Target{Kind: "sweep", ID: id}, "", nil, nil)
		if err != nil {
			return job{}, fmt.Errorf("sweep: %w", err)
		}
		event = &e
	}
	from, err := s.Runs.Take(ctx, r, event, s.Limits.orDefault().Lease)
	if err != nil {
		return job{}, fmt.Errorf("sweep: %w", err)
	}
	taken = true
	return job{r, from}, nil
}

// run walks the pass that take has returned, and notes how it ended.
func (s *Sweeper) run(ctx context.Context, j job) Report {
	limits := s.Limits.orDefault()
	p := &pass{Sweeper: s, limits: limits, pace: newPace(limits), report: j.report, cursor: j.from, kept: j.report.Started}
	err := guarded(func() error { return p.walk(ctx) })
	s.walking.Store(false)
	r, next := &p.report, p.next()
	r.Finished = time.Now()
	switch {
	case err == nil:
		r.Outcome, next = Done, Cursor{}
	case errors.Is(err, errCeiling):
		r.Outcome = Ceiling
	case errors.Is(err, ErrChanged):
		r.Outcome, r.Detail = Ceiling, ErrChanged.Error()
	case errors.Is(err, errSlow):
		r.Outcome = Slow
	case errors.Is(err, errBehind):
		r.Outcome, r.Detail = Slow, err.Error()
	case errors.Is(err, ErrLost):
		r.Outcome = TakenOver
	case ctx.Err() != nil:
		r.Outcome = Stopped
	default:
		r.Outcome, r.Detail = Failed, "the database failed; the log of the instance says how"
		switch {
		case errors.Is(err, errTooMany):
			r.Detail = errTooMany.Error()
		case errors.Is(err, errPanic):
			r.Detail = "a fault of the program; the log of the instance has it"
		}
	}
	if err := s.Runs.Finish(context.WithoutCancel(ctx), *r, next); err != nil {
		s.Log.WarnContext(ctx, "the end of a sweep is not on record", "sweep_id", r.ID, "err", err)
	}
	if s.Swept != nil {
		s.Swept(*r)
	}
	s.report(ctx, r, err)
	if s.After != nil && (r.Outcome == Done || r.Outcome == Ceiling) {
		if err := guarded(func() error { s.After(ctx); return nil }); err != nil {
			s.Log.ErrorContext(ctx, "what follows a sweep panicked; it is tried after the next one", "panic", err)
		}
	}
	return *r
}

// report logs the result of a run.
func (s *Sweeper) report(ctx context.Context, r *Report, err error) {
	about := []any{"sweep_id", r.ID, "cleared", r.Cleared, "failed_rows", r.FailedRows, "took", r.Took(), "longest_batch", r.Longest}
	switch {
	case errors.Is(err, errPanic):
		s.Log.ErrorContext(ctx, "sweep panicked; the next one goes on", append(about, "panic", err)...)
	case r.Outcome == Failed, r.Outcome == Slow, r.Outcome == TakenOver:
		s.Log.WarnContext(ctx, "sweep stopped early; the next one goes on", append(about, "outcome", r.Outcome, "err", err)...)
	case r.Cleared > 0:
		s.Log.InfoContext(ctx, "swept", append(about, "outcome", r.Outcome)...)
	}
}
