//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package simulation

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

// A database keeps one login per user, as gormstore does: an end is stamped by
// its clock when the change is made, and visible when it is committed.
type database struct {
	mu     sync.Mutex
	r      *rand.Rand
	back   time.Duration // how far its clock is behind
	linger float64       // how often a commit takes long
	global idworker.ID
	users  map[idworker.ID]*row
	last   idworker.ID
}

type row struct {
	lock    chan struct{}   // has a token while a change is made
	current session.Session // its ID is 0 if there is none
	ended   session.Session
	floor   idworker.ID
	stamp   time.Time
}

// late is what a change may take from its stamp to its commit without being
// stamped anew.
const late = time.Second

func newDatabase(seed uint64, users int) *database {
	d := &database{r: rand.New(rand.NewPCG(seed, 1000)), users: map[idworker.ID]*row{}}
	for i := range users {
		d.users[idworker.ID(i+1)] = &row{lock: make(chan struct{}, 1)}
	}
	return d
}

func (d *database) now() time.Time { return time.Now().Add(-d.back) }

// setBack is a failover to a server whose clock is behind.
func (d *database) setBack(by time.Duration) { d.mu.Lock(); d.back = by; d.mu.Unlock() }

func (d *database) mint(above idworker.ID) idworker.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = max(d.last, above, idworker.Default().Smallest(time.Now())) + 1
	return d.last
}

// commitTime is how long a commit takes.
func (d *database) commitTime() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := 3 * time.Millisecond
	if d.r.Float64() < d.linger {
		most = 2900 * time.Millisecond
	}
	return time.Duration(1 + d.r.Int64N(int64(most)))
}

// finish commits change, after the time that it takes, with the stamp of before.
func (d *database) finish(u *row, change func()) {
	d.mu.Lock()
	begin, stamp := time.Now(), d.now()
	d.mu.Unlock()
	time.Sleep(d.commitTime())
	d.mu.Lock()
	change()
	u.stamp = stamp
	d.mu.Unlock()
	if time.Since(begin) >= late {
		time.Sleep(d.commitTime() % (5 * time.Millisecond))
		d.mu.Lock()
		u.stamp = d.now()
		d.mu.Unlock()
	}
}

func (u *row) end(why session.Reason) session.Session {
	u.floor = max(u.floor, u.current.ID)
	u.ended, u.current = u.current, session.Session{}
	u.ended.Ended = why
	return u.ended
}

// holder is whose login that is, or was.
func (d *database) holder(id idworker.ID) *row {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range d.users {
		if u.current.ID == id || u.ended.ID == id {
			return u
		}
	}
	return nil
}

// A link is the database as one instance sees it.
type link struct {
	*database
	wire *wire
}

func (l *link) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	asOf := time.Now()
	return ask(ctx, l.wire, func() (s session.Session, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, u := range l.users {
			switch id {
			case u.current.ID:
				if s = u.current; id <= l.global {
					s.Ended = session.Revoked
				}
			case u.ended.ID:
				s = u.ended
			default:
				continue
			}
			s.AsOf, s.Source = asOf, session.FromDatabase
			return s, nil
		}
		return s, session.ErrNotFound
	})
}

func (l *link) Touch(context.Context, idworker.ID, time.Time) error { return nil }
func (l *link) Hear(context.Context, session.Session) error         { return nil }

func (l *link) Begin(ctx context.Context, o session.Opening) (session.Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	asOf := time.Now()
	return ask(ctx, l.wire, func() (begun session.Begun, err error) {
		u := l.users[o.UserID]
		u.lock <- struct{}{}
		defer func() { <-u.lock }()
		l.mu.Lock()
		above := max(u.floor, u.current.ID, l.global)
		l.mu.Unlock()
		id, hash, err := o.Mint(context.WithoutCancel(ctx), above)
		if err != nil {
			return begun, err
		}
		l.finish(u, func() {
			if u.current.ID != 0 {
				begun.Replaced = u.end(session.Replaced)
			}
			u.current = session.Session{ID: id, UserID: o.UserID, Username: "u", Role: "user", Hash: hash, Seen: o.Seen, AsOf: asOf}
			begun.Session = u.current
		})
		return begun, nil
	})
}

func (l *link) End(ctx context.Context, e session.Ending) (session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return ask(ctx, l.wire, func() (ended session.Session, err error) {
		u := l.holder(e.ID)
		if u == nil {
			return ended, session.ErrNotFound
		}
		u.lock <- struct{}{}
		defer func() { <-u.lock }()
		switch e.ID {
		case u.current.ID:
			l.finish(u, func() { ended = u.end(e.Reason) })
		case u.ended.ID:
			ended = u.ended
			l.finish(u, func() {}) // stamped anew
		default:
			return ended, session.ErrNotFound
		}
		return ended, nil
	})
}

// endAll raises the global floor.
func (l *link) endAll(ctx context.Context) error {
	_, err := ask(ctx, l.wire, func() (struct{}, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for u := range maps.Values(l.users) {
			l.global = max(l.global, u.current.ID)
		}
		l.global = max(l.global, idworker.Default().Smallest(time.Now()))
		return struct{}{}, nil
	})
	return err
}

func (l *link) News(ctx context.Context, since time.Time, keep time.Duration) (session.News, error) {
	return ask(ctx, l.wire, func() (session.News, error) {
		l.mu.Lock()
		news := session.News{Now: l.now(), Global: l.global}
		l.mu.Unlock()
		time.Sleep(l.commitTime() % time.Millisecond)
		l.mu.Lock()
		defer l.mu.Unlock()
		if since.IsZero() {
			since = news.Now.Add(-keep)
		}
		for id, u := range l.users {
			if u.floor != 0 && !u.stamp.Before(since) {
				news.Ends = append(news.Ends, session.End{UserID: id, Floor: u.floor, Reason: u.ended.Ended, At: u.stamp})
			}
		}
		return news, nil
	})
}
