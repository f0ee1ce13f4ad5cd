package sweep

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// open lets requests in, shut lets no more in and ends what came last.
func (s *Sweeper) open() <-chan job {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox = make(chan job, 1)
	return s.inbox
}

func (s *Sweeper) shut(end func(job)) {
	s.mu.Lock()
	inbox := s.inbox
	s.inbox = nil
	s.mu.Unlock()
	select {
	case j := <-inbox:
		end(j)
	default:
	}
}

// Request has a pass begin now, on this instance, and returns as soon as it is
// certain to. It is on record who asked for it. It fails with [ErrRunning], or with
// [ErrStopped] where nothing runs the sweeper.
func (s *Sweeper) Request(ctx context.Context, by audit.Actor) (Report, error) {
	s.mu.Lock()
	stopped := s.inbox == nil
	s.mu.Unlock()
	if stopped {
		return Report{}, ErrStopped
	}
	j, err := s.take(ctx, &by)
	if err != nil {
		return Report{}, err
	}
	if s.hand(j) {
		s.Log.InfoContext(ctx, "sweep requested", append([]any{"sweep_id", j.report.ID}, by.LogArgs()...)...)
		return j.report, nil
	}
	s.walking.Store(false)
	j.report.Finished, j.report.Outcome = time.Now(), Stopped
	return Report{}, errors.Join(ErrStopped, s.Runs.Finish(ctx, j.report, j.from))
}

// hand gives a pass to Run, and reports false if that has ended meanwhile.
// There is room: no other has the lease.
func (s *Sweeper) hand(j job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.inbox <- j:
		return true
	default:
		return false
	}
}
