//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package simulation

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// A shared is a Redis that forgets, lags and loses messages.
type shared struct {
	mu     sync.Mutex
	r      *rand.Rand
	values map[string]value
	saved  map[string]value // what a replica had, a while ago
	drop   float64          // of the messages
	ears   []func([]byte)
}

type value struct {
	text  []byte
	until time.Time
}

func newShared(seed uint64) *shared {
	return &shared{r: rand.New(rand.NewPCG(seed, 2000)), values: map[string]value{}}
}

func (s *shared) flush() { s.mu.Lock(); s.values = map[string]value{}; s.mu.Unlock() }
func (s *shared) save()  { s.mu.Lock(); s.saved = maps.Clone(s.values); s.mu.Unlock() }

// failOver makes a replica the master that has what was saved, and no more.
func (s *shared) failOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = maps.Clone(s.saved)
	if s.values == nil {
		s.values = map[string]value{}
	}
}

func (s *shared) get(key string) ([]byte, bool) {
	v, ok := s.values[key]
	if ok && !time.Now().Before(v.until) {
		delete(s.values, key)
		return nil, false
	}
	return v.text, ok
}

// spread sends a message to every instance, now or later, or twice, or never.
func (s *shared) spread(text []byte) {
	for _, ear := range s.ears {
		for range 1 + s.r.IntN(8)/7 {
			if s.r.Float64() < s.drop {
				continue
			}
			d := time.Duration(50_000 + s.r.Int64N(2_000_000))
			if s.r.IntN(10) == 0 {
				d += time.Duration(s.r.Int64N(int64(3 * time.Second)))
			}
			go func() { time.Sleep(d); ear(text) }()
		}
	}
}

// A sharedLink is Redis as one instance sees it.
type sharedLink struct {
	*shared
	wire *wire
}

const patience = 100 * time.Millisecond

func (l *sharedLink) Get(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return ask(ctx, l.wire, func() ([]byte, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		text, ok := l.get(key)
		if !ok {
			return nil, goredis.Nil
		}
		return bytes.Clone(text), nil
	})
}

// do is a question whose answer is only whether it was done.
func (l *sharedLink) do(ctx context.Context, patience time.Duration, f func()) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, err := ask(ctx, l.wire, func() (struct{}, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		f()
		return struct{}{}, nil
	})
	return err
}

func (l *sharedLink) Fill(ctx context.Context, key string, text []byte, ttl time.Duration) error {
	return l.do(ctx, patience, func() {
		if _, ok := l.get(key); !ok {
			l.values[key] = value{bytes.Clone(text), time.Now().Add(ttl)}
		}
	})
}

func (l *sharedLink) End(ctx context.Context, key string, text []byte, ttl time.Duration) error {
	return l.do(ctx, 5*patience, func() {
		l.values[key] = value{bytes.Clone(text), time.Now().Add(ttl)}
		l.spread(bytes.Clone(text))
	})
}
