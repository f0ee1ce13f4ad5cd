package importhook

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// places are those of questions under way.
type places struct {
	mu    sync.Mutex
	taken map[netip.Prefix]int
	all   int
}

// take takes a place until leave is called, or fails with [account.ErrElsewhere].
func (p *places) take(network netip.Prefix) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= most || p.taken[network] >= mostOfNetwork {
		return nil, fmt.Errorf("importhook: %w: too many are asked at once", account.ErrElsewhere)
	}
	p.all++
	p.taken[network]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		if p.taken[network]--; p.taken[network] == 0 {
			delete(p.taken, network)
		}
	}, nil
}
