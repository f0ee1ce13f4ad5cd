package servicekey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Rows are the keys in the database.
//
// Find reads a key with its account, or fails with [ErrNotFound]. Any other error means
// that the answer is unknown. Used notes that a key was used in the hour that began then;
// a later hour stays.
type Rows interface {
	Find(ctx context.Context, id idworker.ID) (Held, error)
	Used(ctx context.Context, id idworker.ID, hour time.Time) error
}

// Options are what a [Service] is made of.
type Options struct {
	Rows Rows
	// Life is for how long after its as-of an answer is repeated: see [Life].
	Life time.Duration
	// Reads is how many rows can be read at once, by all that read any: a flood of keys takes
	// at most half of them. 0 means many.
	Reads int
	// Clock is that of the database, by which keys expire; false if it is not known yet.
	Clock func() (time.Time, bool)
	// Counted, if set, is called with the result of each question: one of [Results]. It
	// must not block.
	Counted func(result string, needs Scope)
}

// Life is for how long after its as-of an answer may be repeated: the bound, less what a
// stream takes to look again. every is the time between two looks of a stream.
func Life(bound, every time.Duration) time.Duration { return bound - every - every/2 }

// Results are the words for what comes of a question.
func Results() []string { return []string{accepted, refused, forbidden, undecided} }

const accepted, refused, forbidden, undecided = "accepted", "refused", "forbidden", "undecided"

// A Service recognises keys, and remembers what the rows said. Make one with [NewService].
//
// An answer is repeated only for Life after its as-of, which is less than the bound. So a
// key that was revoked, and one whose account was disabled or has another role, is refused
// on every instance within the bound, without any message. What is in use is asked about
// again ahead of time, by [Service.Run]: no request waits for that.
//
// Only a refusal that can never become untrue is repeated. For all others the row is
// asked each time.
type Service struct {
	Options

	mu    sync.RWMutex
	known map[idworker.ID]*entry
	ahead chan *entry
	// noted is when a use could not be noted last, in Unix milliseconds.
	noted  atomic.Int64
	cold   chan struct{} // held by a request that reads about a key that is not known
	lapsed chan struct{} // the same for a key that was good when the row was last asked
}

const (
	// mostCold is how many requests read at once at most. A flood of keys that nobody has waits
	// here, and leaves at least half of the reads to the tokens of people.
	mostCold = 4
	// mostLapsed is how many read at once about keys that were good within lapse, and were not used
	// lately. Nobody else has their secrets, so no flood is in their way.
	mostLapsed = 4
	lapse      = time.Hour
	// coldPatience is how long one waits for its turn.
	coldPatience = 3 * time.Second
	// renewers is how many keys are asked about ahead of time at once.
	renewers = 4
	// mostAhead is how many wait for that.
	mostAhead = 256
)

type entry struct {
	Held
	due atomic.Bool // it waits to be renewed, or is being renewed
}

// NewService returns a service that remembers nothing.
func NewService(o Options) *Service {
	cold := mostCold
	if o.Reads > 0 {
		cold = max(1, min(mostCold, o.Reads/2))
	}
	return &Service{
		Options: o,
		known:   make(map[idworker.ID]*entry), ahead: make(chan *entry, mostAhead), cold: make(chan struct{}, cold), lapsed: make(chan struct{}, mostLapsed),
	}
}

var (
	errNoClock = errors.New("servicekey: the database was not polled yet")
	errLate    = errors.New("servicekey: the answer took longer than it may be believed")
)

// Verify returns the key that k is the text of, with its account, if it is good for what
// needs the scope. It fails with a [*flakepass.Refusal], mostly in a [*RefusedError]; with
// [ErrRole], with a [*ScopeError], and with any other error if the answer is unknown.
func (s *Service) Verify(ctx context.Context, k flakepass.ServiceKey, needs Scope) (Held, error) {
	got, err := s.verify(ctx, k, needs)
	if s.Counted != nil {
		s.Counted(result(err), needs)
	}
	return got, err
}

func (s *Service) verify(ctx context.Context, k flakepass.ServiceKey, needs Scope) (Held, error) {
	if k.IsZero() {
		return Held{}, flakepass.ErrMissing
	}
	id, hash := idworker.ID(k.ID()), HashOf(k)
	if e := s.remembered(id); e != nil {
		if err := s.judge(&e.Held, &hash, needs); err == nil || final(err) {
			if err == nil {
				s.used(e)
			}
			return e.Held, err
		}
	}
	lane := s.cold
	if s.had(id, &hash) {
		lane = s.lapsed
	}
	release, err := turn(ctx, lane)
	if err != nil {
		return Held{}, err
	}
	defer release()
	if e := s.remembered(id); e != nil && s.judge(&e.Held, &hash, needs) == nil { // another request has read it meanwhile
		return e.Held, nil
	}
	e, err := s.read(ctx, id)
	if err != nil {
		return Held{}, err
	}
	err = s.judge(&e.Held, &hash, needs)
	if err == nil && session.Age(time.Now(), e.AsOf) >= s.Life {
		err = errLate
	}
	if err == nil {
		s.used(e)
	}
	return e.Held, err
}

// turn waits until a request may read.
func turn(ctx context.Context, lane chan struct{}) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, coldPatience)
	defer cancel()
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("servicekey: waiting to ask: %w", ctx.Err())
	}
}

// remembered is what is known of a key, if it may be repeated.
func (s *Service) remembered(id idworker.ID) *entry {
	s.mu.RLock()
	e := s.known[id]
	s.mu.RUnlock()
	if e == nil || session.Age(time.Now(), e.AsOf) >= s.Life {
		return nil
	}
	return e
}

// had reports whether a key with that hash was there when the row was last asked.
func (s *Service) had(id idworker.ID, hash *session.Hash) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.known[id]
	return e != nil && e.Hash.Equal(hash)
}

// judge returns nil if what the row said is good for a key with that hash, and for what
// needs the scope.
func (s *Service) judge(got *Held, hash *session.Hash, needs Scope) error {
	if !got.Hash.Equal(hash) {
		return got.no(true, flakepass.ErrKeyInvalid)
	}
	now, ok := s.Clock()
	if !ok && !got.ExpiresAt.IsZero() {
		return errNoClock
	}
	return got.May(now, needs)
}

// final reports whether a refusal stays true: an account can be enabled again, and get
// its role back; a key never gets another secret or another scope.
func final(err error) bool {
	if _, ok := errors.AsType[*ScopeError](err); ok {
		return true
	}
	return errors.Is(err, flakepass.ErrKeyInvalid) || errors.Is(err, flakepass.ErrKeyRevoked) || errors.Is(err, flakepass.ErrKeyExpired)
}

// result is the word for what came of a question.
func result(err error) string {
	_, isScope := errors.AsType[*ScopeError](err)
	_, isRefusal := errors.AsType[*flakepass.Refusal](err)
	switch {
	case err == nil:
		return accepted
	case isScope, errors.Is(err, ErrRole):
		return forbidden
	case isRefusal:
		return refused
	}
	return undecided
}
