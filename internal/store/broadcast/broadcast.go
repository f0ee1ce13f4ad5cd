// Package broadcast streams to other services what this instance knows about logins:
// every end, the global floor and the policy, each as soon as it is known here,
// and how old this instance's horizon is.
//
// What became known lies in one ring, which all followers read at their own pace.
// So a slow follower costs no memory: the ring overtakes it, and it has to
// begin anew.
package broadcast

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// ErrSlow is what ends [Hub.Follow] for who does not keep up.
var ErrSlow = errors.New("broadcast: the follower is too slow")

// The other errors with which a stream ends, or does not begin.
var (
	errFull     = fmt.Errorf("broadcast: %w", session.ErrFollowers)
	errStopping = fmt.Errorf("broadcast: %w", session.ErrStopping)
)

// Options says what a [Hub] streams, and to how many.
type Options struct {
	// Feed knows the horizon and the global floor.
	Feed interface {
		Horizon() time.Time
		Global() idworker.ID
		Every() time.Duration
	}
	// Policy is in force.
	Policy interface{ Current() *policy.Policy }
	// Bound is how old knowledge may be that anybody relies on.
	Bound time.Duration
	// Most is how many may follow at once. 0 means 1000.
	Most int
	// Ring is how many ends are remembered. 0 means 65,536, of about 64 bytes each.
	Ring int
}

// A Hub remembers what became known of late, and streams it. Make one with [New].
// The methods may be called at the same time.
type Hub struct {
	Options
	name string // of this hub, in marks
	done chan struct{}

	mu        sync.Mutex
	stopped   bool
	followers int
	streams   map[idworker.ID][]*stream // of each account that follows; the oldest first
	ring      []entry                   // of at most Ring; event n lies at n % Ring
	next      uint64                    // number of the event to come; the first is 1
	complete  time.Time                 // since when the ring holds all that became known
	more      chan struct{}             // closed when there is another event
	known     [2]map[place]idworker.ID
	turned    time.Time // when known[0] was begun
}

// A place is a slot of a user.
type place struct {
	user idworker.ID
	slot session.Slot
}

// An entry is an end, or, without a floor, that its user was renamed.
type entry struct {
	session.End
	at time.Time // by this process's clock, after it was known
}

// ofRename is the slot under which it is known when a user was renamed: no session is in it.
const ofRename session.Slot = 255

const (
	// An end is recognised for at least turn, or until [Options.Ring] others have come. So
	// followers get once what a message and several polls bring. A follower that gets an end
	// twice takes no harm.
	turn = 20 * time.Second
	// atOnce is how many ends are in one bulletin at most.
	atOnce = 256
)

// New returns a hub that knows nothing. It must be given everything from now on, or
// what it says of itself is not true.
func New(o Options) *Hub {
	o.Most, o.Ring = cmp.Or(o.Most, 1000), cmp.Or(o.Ring, 1<<16)
	now := time.Now()
	h := &Hub{
		Options: o, name: rand.Text(), done: make(chan struct{}), next: 1, complete: now, turned: now,
		more: make(chan struct{}), streams: make(map[idworker.ID][]*stream),
	}
	h.known[0] = make(map[place]idworker.ID)
	return h
}

// ApplyPoll adds what a poll brought, before its horizon counts.
func (h *Hub) ApplyPoll(news session.News) {
	for _, e := range news.Ends {
		h.add(e)
	}
	for _, r := range news.Renames {
		h.put(place{r.UserID, ofRename}, idworker.ID(r.At.UnixMilli()), session.End{UserID: r.UserID})
	}
}

// ApplyEnd adds a session that ended, here or elsewhere.
func (h *Hub) ApplyEnd(ended session.Session) {
	h.add(ended.End())
}

func (h *Hub) add(e session.End) { h.put(place{e.UserID, e.Slot}, e.Floor, e) }

// put adds an event, unless one of that place with that number or a larger one is known.
func (h *Hub) put(at place, number idworker.ID, e session.End) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if now.Sub(h.turned) > turn || len(h.known[0]) >= h.Ring {
		h.known = [2]map[place]idworker.ID{make(map[place]idworker.ID), h.known[0]}
		h.turned = now
	}
	if h.known[0][at] >= number || h.known[1][at] >= number {
		return
	}
	h.known[0][at] = number
	if len(h.ring) < h.Ring {
		h.ring = append(h.ring, entry{e, now})
	} else {
		old := &h.ring[h.slot(h.next)]
		h.complete = old.at // of what became known at that instant, something is gone
		*old = entry{e, now}
	}
	h.next++
	close(h.more)
	h.more = make(chan struct{})
}

func (h *Hub) slot(n uint64) int { return int((n - 1) % uint64(h.Ring)) }

// oldest is the number of the oldest event that is remembered, or next.
func (h *Hub) oldest() uint64 { return h.next - uint64(len(h.ring)) }

// Followers is how many there are.
func (h *Hub) Followers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.followers
}

// Stop ends all streams, and refuses new ones.
func (h *Hub) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopped {
		h.stopped = true
		close(h.done)
	}
}

// mark names the place before the event n.
func (h *Hub) mark(n uint64) string { return h.name + "-" + strconv.FormatUint(n, 10) }

// place is where a follower that brings that mark goes on, or false if it
// cannot.
func (h *Hub) place(mark string) (uint64, bool) {
	name, number, _ := strings.Cut(mark, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	return n, err == nil && name == h.name && n >= h.oldest() && n <= h.next
}

// reach is how far back a follower that brings no mark begins: longer than a
// follower needs to come here from another instance.
func (h *Hub) reach() time.Duration { return 2*h.Bound + 5*time.Second }

// enter lets one more follow, from after that mark if that is possible.
func (h *Hub) enter(account idworker.ID, after string) (*stream, session.Start, uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.stopped:
		return nil, session.Start{}, 0, errStopping
	case h.followers >= h.Most && !h.makeRoom(account):
		return nil, session.Start{}, 0, errFull
	}
	s := h.open(account)
	now := time.Now()
	start := session.Start{Every: h.Feed.Every(), Covers: min(h.reach(), now.Sub(h.complete))}
	at, ok := h.place(after)
	if ok {
		start.Resumed = true
	} else {
		// One that became known earlier than what is promised is of no use, and no harm.
		for at = h.next; at > h.oldest() && now.Sub(h.ring[h.slot(at-1)].at) <= start.Covers; {
			at--
		}
	}
	start.Mark = h.mark(at)
	return s, start, at, nil
}

// read is what happened from the event at on, or [ErrSlow].
func (h *Hub) read(at uint64) (b session.Bulletin, next uint64, more <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at < h.oldest() {
		return b, 0, nil, ErrSlow
	}
	for next = at; next < h.next && next < at+atOnce; next++ {
		if e := h.ring[h.slot(next)].End; e.Floor == 0 {
			b.Renamed = append(b.Renamed, e.UserID)
		} else {
			b.Ends = append(b.Ends, e)
		}
	}
	b.Last = h.mark(next)
	return b, next, h.more, nil
}

// A Publisher is a [session.Store] in front of another that streams every end that it
// is given.
type Publisher struct {
	session.Store // everything but Publish is the next store's
	To            *Hub
}

var _ session.Store = (*Publisher)(nil)

// Publish streams, and then passes the ends on: the next store may wait for one that
// instances share.
func (p *Publisher) Publish(ctx context.Context, ended ...session.Session) error {
	for i := range ended {
		p.To.ApplyEnd(ended[i])
	}
	return p.Store.Publish(ctx, ended...)
}
