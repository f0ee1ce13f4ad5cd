package console

import (
	"sync"
	"time"
)

// A memo keeps an answer that is dear for a while. Those who ask meanwhile for
// one that is being made wait for it.
type memo[T any] struct {
	mu    sync.Mutex
	key   int64
	until time.Time
	v     T
}

// get is the answer for key, at most that old. One that failed is not kept.
func (m *memo[T]) get(now time.Time, key int64, age time.Duration, make func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key == m.key && now.Before(m.until) {
		return m.v, nil
	}
	return m.make(now, key, age, make)
}

// renew is get for who wants a new answer.
func (m *memo[T]) renew(now time.Time, key int64, age time.Duration, make func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.make(now, key, age, make)
}

func (m *memo[T]) make(now time.Time, key int64, age time.Duration, make func() (T, error)) (T, error) {
	v, err := make()
	if err == nil {
		m.key, m.until, m.v = key, now.Add(age), v
	}
	return v, err
}
