package ratelimittest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// Records keep what a database would, in memory, and fail as that does when a context has ended. The
// zero value is empty.
type Records struct {
	mu     sync.Mutex
	users  map[string]idworker.ID
	tokens map[idworker.ID][]byte
	places map[idworker.ID]map[string]int64
	guards map[int64]ratelimit.Count
	last   int64
	err    error
	looks  int
	swaps  int
}

var _ ratelimit.Records = (*Records)(nil)

// Add adds a user with that name, the hash of whose last token is that.
func (r *Records) Add(name string, id idworker.ID, token []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users == nil {
		r.users, r.tokens, r.places = map[string]idworker.ID{}, map[idworker.ID][]byte{}, map[idworker.ID]map[string]int64{}
	}
	r.users[name], r.tokens[id], r.places[id] = id, token, map[string]int64{}
}

// Fail makes every call fail with err; nil: none.
func (r *Records) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// Done is how often Look and Swap were called since the last time.
func (r *Records) Done() (looks, swaps int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	looks, swaps = r.looks, r.swaps
	r.looks, r.swaps = 0, 0
	return looks, swaps
}

// Guards is how many there are.
func (r *Records) Guards() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.guards)
}

// Look implements [ratelimit.Records].
func (r *Records) Look(ctx context.Context, q ratelimit.Query) (ratelimit.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	id := cmp.Or(q.User, r.users[q.Account])
	return ratelimit.Record{
		Now: time.Now().UnixMilli(), User: id, Tokens: [][]byte{r.tokens[id]}, PlaceSeen: r.places[id][string(q.Place)], Places: len(r.places[id]) > 0,
		Strangers: r.guard(cmp.Or(int64(id), q.Shadow)), Place: r.guard(q.PlaceKey), Device: r.guard(q.DeviceKey),
	}, cmp.Or(r.err, ctx.Err())
}

func (r *Records) guard(key int64) ratelimit.Count {
	g := r.guards[key]
	g.Key, g.Networks = key, slices.Clone(g.Networks)
	return g
}

// Swap implements [ratelimit.Records].
func (r *Records) Swap(ctx context.Context, was, is ratelimit.Count) (ratelimit.Count, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.swaps++
	if err := cmp.Or(r.err, ctx.Err()); err != nil || r.guards[is.Key].Version != was.Version {
		return was, false, err
	}
	if r.guards == nil {
		r.guards = map[int64]ratelimit.Count{}
	}
	r.last++
	is.Version = r.last
	r.guards[is.Key] = is
	return is, true, nil
}

// Remember implements [ratelimit.Records].
func (r *Records) Remember(ctx context.Context, user idworker.ID, place []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := cmp.Or(r.err, ctx.Err())
	if err == nil && r.places[user] != nil {
		r.places[user][string(place)] = time.Now().UnixMilli()
	}
	return err
}

// Clear implements [ratelimit.Records].
func (r *Records) Clear(_ context.Context, after int64, _ int) (last int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, g := range r.guards {
		if g.Full > after && g.Unused(time.Now().UnixMilli()) {
			delete(r.guards, key)
		}
	}
	return 0, r.err
}
