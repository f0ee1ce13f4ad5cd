package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Copies are replicas of the database, which copy what a pass writes and may be
// slower than it is.
type Copies interface {
	// Behind is how far the slowest replica that answers is behind, or up to a second less. What
	// was written before the pass counts as well. If some replicas do not answer, the error names
	// them, and the time is still that of the others. If the database itself does not answer, the
	// time is 0.
	Behind(ctx context.Context) (time.Duration, error)
}

const (
	// beat is how often a pass asks how far copies are.
	beat = time.Second
	// longestWait is for how long a pass waits for copies before it ends.
	longestWait = time.Minute
)

var errBehind = errors.New("a replica is behind")

// keep makes the lease longer when it is time: more often where copies are asked.
func (p *pass) keep(ctx context.Context) error {
	every := p.limits.Lease / 3
	if p.Copies != nil {
		every = min(every, beat)
	}
	if time.Since(p.kept) < every {
		return nil
	}
	if err := p.renew(ctx); err != nil {
		return err
	}
	return p.catchUp(ctx)
}

// renew makes the lease last from now.
func (p *pass) renew(ctx context.Context) error {
	p.kept = time.Now()
	return p.Runs.Keep(ctx, p.report, p.next(), p.limits.Lease)
}

// catchUp waits while a copy is further behind than it may be. One that does not
// answer is not waited for: it may be down for days, and rows that are not swept
// until then only make an index larger.
func (p *pass) catchUp(ctx context.Context) error {
	if p.Copies == nil {
		return nil
	}
	for start := time.Now(); ; {
		behind, err := p.Copies.Behind(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !p.unheard {
			p.unheard = true
			p.Log.WarnContext(ctx, "it is not known how far a replica is; the sweep does not wait for it", "sweep_id", p.report.ID, "err", err)
		}
		switch {
		case behind <= p.limits.Lag:
			return nil
		case time.Since(start) >= longestWait:
			return fmt.Errorf("%w by %v", errBehind, behind.Round(time.Second))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beat):
		}
		if err := p.renew(ctx); err != nil {
			return err
		}
	}
}
