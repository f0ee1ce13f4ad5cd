package broadcast

import (
	"slices"

	"github.com/flakepass/flakepass/idworker"
)

// A stream is one call of Follow.
type stream struct {
	account idworker.ID
	lost    chan struct{} // closed when its place went to another account
}

// makeRoom closes the newest stream of the account that has the most, for one that
// would still have fewer. It reports whether there is such an account. So one
// account may have all streams while no other wants any, and keeps none out.
// The newest goes: its client has relied on it for the shortest time.
func (h *Hub) makeRoom(account idworker.ID) bool {
	var most []*stream
	for _, of := range h.streams {
		if len(of) > len(most) {
			most = of
		}
	}
	if len(most) <= len(h.streams[account])+1 {
		return false
	}
	s := most[len(most)-1]
	h.remove(s)
	close(s.lost)
	return true
}

func (h *Hub) open(account idworker.ID) *stream {
	s := &stream{account: account, lost: make(chan struct{})}
	h.streams[account] = append(h.streams[account], s)
	h.followers++
	return s
}

func (h *Hub) close(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(s)
}

// remove takes a stream out of the count, if it is still in it.
func (h *Hub) remove(s *stream) {
	of := h.streams[s.account]
	i := slices.Index(of, s)
	if i < 0 {
		return
	}
	h.followers--
	if of = slices.Delete(of, i, i+1); len(of) == 0 {
		delete(h.streams, s.account)
	} else {
		h.streams[s.account] = of
	}
}
