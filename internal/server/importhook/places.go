package importhook

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// places are those of questions under way, and of what takes as long.
type places struct {
	mu    *sync.Mutex
	taken map[netip.Prefix]int
	all   *int
}

func newPlaces() places {
	return places{mu: new(sync.Mutex), taken: make(map[netip.Prefix]int), all: new(int)}
}

// take takes a place until leave is called, or fails with [account.ErrElsewhere]. That is not
// [account.ErrUndecided], although nothing was asked: a name that nobody is asked about is
// refused in the same way, and its password was compared.
func (p places) take(network netip.Prefix) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *p.all >= most || p.taken[network] >= mostOfNetwork {
		return nil, fmt.Errorf("importhook: %w: too many are asked at once", account.ErrElsewhere)
	}
	*p.all++
	p.taken[network]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		*p.all--
		if p.taken[network]--; p.taken[network] == 0 {
			delete(p.taken, network)
		}
	}, nil
}

// times are the last ones of a kind.
type times struct {
	mu   sync.Mutex
	last [64]time.Duration
	n    int
}

func (t *times) note(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%len(t.last)] = took
	t.n++
}

// draw is one of them, or 0 if there is none.
func (t *times) draw() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return t.last[rand.IntN(min(t.n, len(t.last)))] //nolint:gosec // a time, and no secret
}
