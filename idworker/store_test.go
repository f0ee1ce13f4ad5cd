package idworker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

var errStore = errors.New("store is down")

// A store is a Lender in memory that can be made to fail and to break its
// promise.
type store struct {
	mu     sync.Mutex
	seats  []seat
	tokens int
	calls  int

	now   func() time.Time
	fault func() (before, after error) // nil: none
	any   *rand.Rand                   // nil: a free number; else any at all
	bug   string
	down  time.Time // until then nothing can be written
}

type seat struct {
	token string
	fence int64
	lent  *lent
}

// lent is what the owner of a seat has, in Unix milliseconds.
type lent struct {
	number      int
	from, until int64
}

func newStore(numbers int) *store {
	return &store{seats: make([]seat, numbers), now: time.Now}
}

func (s *store) step(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	var before, after error
	if s.fault != nil {
		before, after = s.fault()
	}
	if before != nil {
		return before
	}
	if time.Now().Before(s.down) {
		return errStore
	}
	if s.bug == "forgets" && s.any.IntN(20) == 0 {
		s.seats[s.any.IntN(len(s.seats))] = seat{} // a backup, put back
	}
	return errors.Join(do(), after)
}

func (s *store) Acquire(_ context.Context, window time.Duration) (idworker.Grant, error) {
	return s.acquire(nil, s.now(), window)
}

func (s *store) acquire(l *life, now time.Time, window time.Duration) (g idworker.Grant, err error) {
	err = s.step(func() error {
		n := s.pick()
		if n < 0 {
			return idworker.ErrNoNumber
		}
		from := max(now.UnixMilli(), s.seats[n].fence)
		if s.bug == "starts at now" {
			from = now.UnixMilli()
		}
		s.tokens++
		token := strconv.Itoa(s.tokens)
		if s.bug == "token of the host" {
			token = "host"
		}
		until := from + window.Milliseconds()
		s.seats[n] = seat{token: token, fence: until, lent: l.lend(n, from, until)}
		if s.bug == "fence behind" {
			s.seats[n].fence = from
		}
		g = idworker.Grant{Number: n, Token: token, From: time.UnixMilli(from), Until: time.UnixMilli(until)}
		return nil
	})
	return g, err
}

func (s *store) pick() int {
	if s.any != nil {
		return s.any.IntN(len(s.seats))
	}
	for n := range s.seats {
		if s.seats[n].token == "" {
			return n
		}
	}
	return -1
}

func (s *store) Extend(_ context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	err := s.step(func() error {
		at := &s.seats[g.Number]
		if at.token != g.Token && s.bug != "extends for anybody" {
			return idworker.ErrLost
		}
		at.fence = max(at.fence, until.UnixMilli())
		at.lent.until = at.fence
		g.Until = time.UnixMilli(at.fence)
		return nil
	})
	return g, err
}

func (s *store) Release(_ context.Context, g idworker.Grant, used time.Time) error {
	return s.step(func() error {
		at := &s.seats[g.Number]
		if at.token != g.Token && s.bug != "releases for anybody" {
			return idworker.ErrLost
		}
		fence := max(used.Add(time.Millisecond-1).UnixMilli(), g.From.UnixMilli())
		if s.bug == "hands back everything" {
			fence = g.From.UnixMilli()
		}
		at.lent.until = min(at.lent.until, fence)
		*at = seat{fence: min(at.fence, fence), lent: new(lent)}
		return nil
	})
}

// lend writes down what a life was lent. Outside a simulation there is none.
func (l *life) lend(number int, from, until int64) *lent {
	r := &lent{number, from, until}
	if l != nil {
		l.lent = append(l.lent, r)
	}
	return r
}

// lentTo reports whether the tick that ends at end was lent to a life under a
// number: a range has the ticks whose end it holds.
func (s *store) lentTo(l *life, number int, end int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(l.lent) {
		if r.number == number && r.from < end && end <= r.until {
			return true
		}
	}
	return false
}

// outage lets nothing be written until then.
func (s *store) outage(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = until
}

// draw is a number below n, of a store with chance in it.
func (s *store) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.any.IntN(n)
}

// steal gives every number to another owner.
func (s *store) steal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.seats {
		if s.seats[n].token != "" {
			s.seats[n].token = "thief"
		}
	}
}

func (s *store) fence(n int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seats[n].fence
}

func (s *store) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = func() (error, error) { return err, nil }
	if err == nil {
		s.fault = nil
	}
}
