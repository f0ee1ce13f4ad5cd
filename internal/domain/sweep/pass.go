package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A pass is one walk over what is stale, by the owner of the lease.
type pass struct {
	*Sweeper
	limits Limits
	pace   *pace
	marks  Marks
	cursor Cursor
	from   [stages]Cursor // of a part: where the pass before it was
	left   []look         // of a part: where something was found and not cleared
	kept   time.Time      // when the lease was last made longer
	until  time.Duration  // since the pass began, for what it does now

	unheard bool // that a copy does not answer was logged

	report Report
}

var (
	errCeiling = errors.New("ceiling")
	errSlow    = errors.New("the smallest batches take too long")
	errTooMany = errors.New("too many rows refuse to be cleared")
)

// walk clears what is over whatever class and role it has, stage by stage, from the cursor
// to the end; then what is too many, and what ends earlier in a part of the policy. Each of
// these gets an equal share of the time that is left: on a large table one of them may take
// many passes, and would keep the others waiting for as long.
func (p *pass) walk(ctx context.Context) error {
	all, parts, err := p.current(ctx)
	if err != nil {
		return err
	}
	// Also a pass that is over soon adds to what a replica has to copy.
	if err := p.catchUp(ctx); err != nil {
		return err
	}
	p.marks, p.until = all, p.limits.Time
	if err := p.stages(ctx); err != nil {
		return err
	}
	var ceiling error
	for i := range 1 + len(parts) {
		took := time.Since(p.report.Started)
		p.until = took + (p.limits.Time-took)/time.Duration(1+len(parts)-i)
		if i == 0 {
			err = p.reduce(ctx)
		} else {
			err = p.part(ctx, parts[i-1])
		}
		switch {
		case errors.Is(err, errCeiling):
			ceiling = err
		case err != nil:
			return err
		}
	}
	return ceiling
}

// over reports whether what the pass does now has had its time, or the pass all its rows.
func (p *pass) over() bool {
	return time.Since(p.report.Started) >= p.until || int(p.report.Cleared) >= p.limits.Rows
}

// stages clears stage after stage, from the cursor to the end.
func (p *pass) stages(ctx context.Context) error {
	for p.cursor.Stage < stages {
		if p.over() {
			return errCeiling
		}
		to, err := p.step(ctx, p.cursor, min(p.pace.size, p.limits.Rows-int(p.report.Cleared)))
		if to.Stage > p.cursor.Stage {
			to = p.begin(to.Stage)
		}
		if p.cursor = to; err != nil {
			return err
		}
	}
	return nil
}

// step clears what is over among the next logins beyond a cursor, as many as limit. It
// returns where the next step begins: there again if this one was too large for its time.
func (p *pass) step(ctx context.Context, from Cursor, limit int) (to Cursor, err error) {
	start, cleared := time.Now(), p.report.Cleared
	stale, to, err := p.Store.Stale(ctx, p.marks, from, limit)
	if err == nil && len(stale) > 0 {
		start = time.Now()
		err = p.batch(ctx, from.Stage, stale)
	}
	took := time.Since(start)
	switch {
	case err == nil || errors.Is(err, errTooMany):
		if p.marks.Part != nil && int(p.report.Cleared-cleared) < len(stale) {
			end := to
			if to.Stage > from.Stage {
				end = p.marks.begin(from.Stage)
			}
			p.left = append(p.left, look{from, end, limit})
		}
	case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		return from, err
	default: // it is tried again, smaller
		to = from
	}
	if errors.Is(err, errTooMany) {
		return to, err
	}
	if len(stale) > 0 {
		p.report.Longest = max(p.report.Longest, took)
	}
	if p.Progress != nil {
		p.Progress(p.report)
	}
	return to, p.rest(ctx, len(stale), took)
}

// rest keeps the lease and lets others at the rows.
func (p *pass) rest(ctx context.Context, n int, took time.Duration) error {
	if n == 0 && took < p.limits.Batch {
		return p.pause(ctx, 0) // nothing was locked
	}
	pause := p.pace.after(n, took)
	if p.pace.slow() {
		return errSlow
	}
	return p.pause(ctx, pause)
}

// pause keeps the lease, and waits.
func (p *pass) pause(ctx context.Context, pause time.Duration) error {
	if err := p.keep(ctx); err != nil || pause <= 0 {
		return errors.Join(err, ctx.Err())
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// batch clears what was found, with the rows in the order of their keys, as every other
// writer of several rows has.
func (p *pass) batch(ctx context.Context, stage Stage, stale []Login) error {
	events := make([]idworker.ID, 0, len(stale))
	if p.Audit {
		// Minted before any row is locked: minting may wait.
		events = events[:len(stale)]
		if _, err := p.IDs.NextN(ctx, events); err != nil {
			return err
		}
	}
	byRow := slices.SortedFunc(slices.Values(stale), func(a, b Login) int { return cmp.Compare(a.Row, b.Row) })
	return p.clear(ctx, stage, byRow, events)
}

// guarded keeps a panic in a pass from ending the process.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return f()
}

var errPanic = errors.New("panic")

// clear clears those logins of a stage. If a row refuses, each half is tried by itself,
// until that row is alone: it is counted and left out, and the next pass tries
// it again.
func (p *pass) clear(ctx context.Context, stage Stage, logins []Login, events []idworker.ID) error {
	n, err := p.Store.Clear(ctx, p.marks, stage, logins, events)
	switch {
	case err == nil:
		p.report.Cleared += int64(n)
		return nil
	case !errors.Is(err, ErrUnclearable):
		return err
	case len(logins) == 1:
		l := logins[0]
		if p.news(l.Token) {
			p.Log.WarnContext(ctx, "a login that is over cannot be cleared off its row; the sweep goes on without it, and tries again",
				"row_id", l.Row, "session_id", l.Token, "err", err)
		}
		return p.refused(err)
	}
	half := len(logins) / 2
	if err := p.clear(ctx, stage, logins[:half], events[:min(half, len(events))]); err != nil {
		return err
	}
	return p.clear(ctx, stage, logins[half:], events[min(half, len(events)):])
}

// refused counts a row that cannot be cleared.
func (p *pass) refused(err error) error {
	p.report.FailedRows++
	if p.report.FailedRows >= int64(p.limits.Failures) {
		return fmt.Errorf("%w, the last one because of: %w", errTooMany, err)
	}
	return nil
}

// news reports whether that login, or that user, was not logged before. What it remembers is
// bounded.
func (s *Sweeper) news(id idworker.ID) bool {
	const most = 10_000
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals == nil || len(s.refusals) >= most {
		s.refusals = map[idworker.ID]bool{}
	}
	known := s.refusals[id]
	s.refusals[id] = true
	return !known
}
