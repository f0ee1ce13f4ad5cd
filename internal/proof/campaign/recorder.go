//go:build unix

package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/proof/campaign/judge"
)

// A recorder keeps the history. It is safe for concurrent use.
type recorder struct {
	began time.Time

	mu     sync.Mutex
	events []judge.Event
	ahead  [2]time.Duration // see judge.Rules
}

// newRecorder is one for servers whose clocks may be wrong by that much.
func newRecorder(wrong time.Duration) *recorder {
	return &recorder{began: time.Now(), ahead: [2]time.Duration{-wrong, wrong}}
}

// now is the time since the start by the monotonic clock. It looks at the clock
// on the wall as well, by which servers give times.
func (r *recorder) now() time.Duration {
	t := time.Now()
	mono := t.Sub(r.began)
	ahead := r.wall(t) - mono
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead = [2]time.Duration{min(r.ahead[0], ahead), max(r.ahead[1], ahead)}
	return mono
}

// wall is an instant by the clock on the wall, since the start.
func (r *recorder) wall(t time.Time) time.Duration { return t.Round(0).Sub(r.began.Round(0)) }

func (r *recorder) add(e judge.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// forget drops the history so far. Nobody may be asking.
func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

// note marks what is broken until the function that it returns is called.
func (r *recorder) note(format string, args ...any) (mended func()) {
	e := judge.Event{Begin: r.now(), Where: "-", What: fmt.Sprintf(format, args...), Op: judge.Note, Answer: judge.Yes, Wait: true}
	return func() {
		e.End = r.now()
		r.add(e)
	}
}

// judge holds what was recorded so far to the promise.
func (r *recorder) judge(bound time.Duration) judge.Verdict {
	r.mu.Lock()
	events, rules := slices.Clone(r.events), judge.NewRules(bound)
	rules.Ahead = r.ahead
	r.mu.Unlock()
	return judge.Judge(events, rules)
}
