package session

import (
	"context"
	"time"
)

// An Auditor reads the rows of a few sessions after they were accepted. So the bound is
// measured on real requests. Set the fields before use.
type Auditor struct {
	Truth Store
	// Stale is called if a session was over when it was accepted. Its argument is for how long
	// the session had been over: from the end, by the clock of the database, to the accept, by
	// the clock of this instance. It must never be more than the bound plus the difference of
	// the two clocks.
	Stale func(time.Duration)

	sample chan Accept
}

// NewAuditor returns an Auditor that has no sample yet.
func NewAuditor(truth Store, stale func(time.Duration)) *Auditor {
	return &Auditor{Truth: truth, Stale: stale, sample: make(chan Accept, 1)}
}

// Sample takes an accept to check. It never waits: it drops a sample while another
// is checked.
func (a *Auditor) Sample(w Accept) {
	select {
	case a.sample <- w:
	default:
	}
}

// Run checks samples until ctx ends.
func (a *Auditor) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-a.sample:
			a.look(ctx, w)
		}
	}
}

func (a *Auditor) look(ctx context.Context, w Accept) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	truth, err := a.Truth.Get(ctx, w.ID, Hash{})
	if err != nil || truth.Alive() || truth.EndedAt == 0 {
		return
	}
	if age := w.At.Sub(time.UnixMilli(truth.EndedAt)); age > 0 {
		a.Stale(age)
	}
}
