package idworkertest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/flakepass/flakepass/idworker"
)

// A Ledger records what was lent and says whether any instant was lent twice
// under one number. Its methods may be called at the same time.
type Ledger struct {
	mu    sync.Mutex
	spans map[string]span // by token
}

// A span is [from, until) in Unix ms: lent, and if given back, then kept.
type span struct {
	number      int
	from, until int64
}

// Lent records a grant, and again after each extension.
func (l *Ledger) Lent(g idworker.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spans == nil {
		l.spans = make(map[string]span)
	}
	l.spans[g.Token] = span{number: g.Number, from: g.From.UnixMilli(), until: g.Until.UnixMilli()}
}

// Kept records that the owner has given back everything from used on, in Unix
// ms.
func (l *Ledger) Kept(g idworker.Grant, used int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.spans[g.Token]
	s.until = max(s.from, min(s.until, used))
	l.spans[g.Token] = s
}

// Overlap returns an error that names two ranges of one number that overlap.
func (l *Ledger) Overlap() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]span, 0, len(l.spans))
	for _, s := range l.spans {
		if s.from < s.until {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b span) int {
		if a.number != b.number {
			return a.number - b.number
		}
		return int(a.from - b.from)
	})
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.number == b.number && b.from < a.until {
			return fmt.Errorf("number %d: [%d, %d) and [%d, %d) overlap", a.number, a.from, a.until, b.from, b.until)
		}
	}
	return nil
}

// check fails the test if anything overlaps.
func (l *Ledger) check(t testing.TB) {
	t.Helper()
	if err := l.Overlap(); err != nil {
		t.Error(err)
	}
}
