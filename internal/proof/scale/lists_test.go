package scale

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// lists measures the pages of 50 that an operator turns: the newest, and ones in
// the middle, which an OFFSET would have to walk to.
func (d *deployment) lists(t testing.TB) {
	t.Helper()
	d.record(t)
	times := 3
	if d.big {
		times = 50
	}
	look := 60
	if d.further > 0 {
		look += 3 * 50 // of user_slots, of users beside them, and of both indexes first
	}
	events, sweeps := &sqlstore.Audit{DB: d.store}, &sqlstore.Sweeps{DB: d.store}
	issued, _ := d.marks()
	middle := func(k int) idworker.ID { return idworker.ID(d.at(d.n/2 + 1013*k%(d.n/4)).id) }
	name := func(k int) string { p := d.at(d.n/4 + 1013*k%(d.n/4)); return p.name() }
	login := func(k int) idworker.ID { return idworker.ID(d.at(d.far(k)*10 + 2).token) }
	list := func(of []audit.Event, err error) (int, error) { return len(of), err }
	for _, c := range []struct {
		what string
		page func(k int) (int, error)
	}{
		{"users, the newest", func(int) (int, error) { l, err := d.users.Newest(t.Context(), 0, 50); return len(l), err }},
		{"users, in the middle", func(k int) (int, error) { l, err := d.users.Newest(t.Context(), middle(k), 50); return len(l), err }},
		{"users, by the beginning of the name", func(k int) (int, error) {
			l, err := d.users.Named(t.Context(), name(k)[:len("person.00000")], "", 50)
			return len(l), err
		}},
		{"users, by name, in the middle", func(k int) (int, error) {
			l, err := d.users.Named(t.Context(), "person.", name(k), 50)
			return len(l), err
		}},
		{"logins, the newest", func(int) (int, error) {
			l, err := (sqlstore.Logins{Sessions: d.sessions}).Newest(t.Context(), idworker.ID(issued), 1<<63-1, 50)
			return len(l), err
		}},
		{"logins, in the middle", func(k int) (int, error) {
			l, err := (sqlstore.Logins{Sessions: d.sessions}).Newest(t.Context(), idworker.ID(issued), login(k), 50)
			return len(l), err
		}},
		{"events, the newest", func(int) (int, error) { return list(events.List(t.Context(), audit.Filter{Limit: 50})) }},
		{"events, in the middle", func(k int) (int, error) {
			return list(events.List(t.Context(), audit.Filter{Before: middle(k), Limit: 50}))
		}},
		{"events of one kind, in the middle", func(k int) (int, error) {
			return list(events.List(t.Context(), audit.Filter{Action: "user.disabled", Before: middle(k), Limit: 50}))
		}},
		{"events by an actor, the newest", func(int) (int, error) {
			return list(events.List(t.Context(), audit.Filter{ActorName: "operator.7", Limit: 50}))
		}},
		{"sweeps, the newest", func(int) (int, error) { l, err := sweeps.Passes(t.Context(), 0, 50); return len(l), err }},
	} {
		var w stopwatch
		_, before := d.asked(t)
		for k := range times {
			w.lap(t, func() error {
				n, err := c.page(k)
				if err == nil && n != 50 {
					t.Errorf("a page of %s has %d of 50", c.what, n)
				}
				return err
			})
		}
		if _, after := d.asked(t); after-before > times*look {
			t.Errorf("%d pages of %s: the server looked at %d rows, want at most %d each", times, c.what, after-before, look)
		}
		d.quantiles("page of 50: "+c.what, &w)
	}
}

// record writes an event for one user in ten, of two kinds and by a hundred
// actors, and as many passes of the sweep as the history keeps.
func (d *deployment) record(t testing.TB) {
	t.Helper()
	start := time.Now()
	execOn(t, d.root, "INSERT INTO audit_events (id, actor, via, action, target_kind, target_id, target) "+
		"SELECT id, CONCAT('operator.', SUBSTRING(username, 14, 1)), 'console', IF(username LIKE '%50', 'user.disabled', 'session.revoked'), "+
		"'user', id, username FROM users WHERE username LIKE '%0' ORDER BY id")
	execOn(t, d.root, "INSERT INTO sweeps (id, instance, started_at, finished_at, outcome) "+
		"SELECT id, 'one', created_at, created_at, 'done' FROM users ORDER BY id LIMIT 1000")
	execOn(t, d.root, "ANALYZE TABLE audit_events")
	d.time("build: an event for one user in ten", time.Since(start))
}
