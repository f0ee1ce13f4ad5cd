package scale

import (
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// lookups measures what a request or a login asks for, with pages in memory and
// without.
func (d *deployment) lookups(t testing.TB) {
	t.Helper()
	times := 50
	if d.big {
		times = 1000
	}
	kinds := []struct {
		name string
		id   func(k int) int64
		good func(session.Session, error) bool
	}{
		{"living", func(k int) int64 { return d.at(d.far(k)*10 + 2).token }, func(s session.Session, err error) bool { return err == nil && s.Alive() }},
		{"ended", func(k int) int64 { return d.at(d.far(k)*10 + 8).ended }, func(s session.Session, err error) bool { return err == nil && !s.Alive() }},
		{"unknown", func(k int) int64 { return d.at(d.far(k)*10+4).token + 1 + int64(d.further) }, func(_ session.Session, err error) bool { return errors.Is(err, session.ErrNotFound) }},
	}
	if d.big { // what memory holds is thrown out
		d.resize(t, 128<<20)
		d.resize(t, pool)
	}
	for _, state := range []string{"cold", "warm"} {
		for _, kind := range kinds {
			if !d.big && state == "cold" {
				continue
			}
			var w stopwatch
			for k := range times {
				var got session.Session
				var err error
				id := idworker.ID(kind.id(k))
				w.lap(t, func() error { got, err = d.sessions.Get(t.Context(), id, session.Hash{}); return nil })
				if !kind.good(got, err) {
					t.Fatalf("get of a token that is %s: %q, %v", kind.name, got.Ended, err)
				}
			}
			d.quantiles("get by token, "+kind.name+", "+state, &w)
		}
	}
	d.uses(t, times)
	for column, id := range map[string]int64{"token_id": d.at(2).token, "ended_token_id": d.at(8).ended} {
		_, err := d.sessions.Get(t.Context(), idworker.ID(id), session.Hash{})
		must(t, err)
		d.mustGoBy(t, "SELECT id AS row_id%users ON "+column+" =", "const", "users_"+column, id)
	}

	var first, deep stopwatch
	for k := range times {
		for after, w := range map[int]*stopwatch{0: &first, d.n/10*9 + k: &deep} {
			id := idworker.ID(0)
			if after > 0 {
				id = idworker.ID(d.at(after).id)
			}
			w.lap(t, func() error {
				page, err := d.users.List(t.Context(), id, 50)
				if err == nil && (len(page) != 50 || after > 0 && page[0].ID != idworker.ID(d.at(after+1).id)) {
					t.Fatalf("the page after person %d has %d people and begins with %v", after, len(page), page[0].ID)
				}
				return err
			})
		}
	}
	d.mustGoBy(t, "SELECT * FROM `users`", "range", "PRIMARY")
	d.quantiles("page of 50 users, the first", &first)
	d.quantiles("page of 50 users, after nine tenths", &deep)

	var own, again, anew stopwatch
	for k := range times {
		who := d.far(k) * 10
		own.lap(t, func() error {
			_, held, err := d.users.WithLogins(t.Context(), idworker.ID(d.at(who+3).id))
			if err == nil && len(held) != 1+d.further {
				t.Fatalf("a user has %d logins, want %d", len(held), 1+d.further)
			}
			return err
		})
		again.lap(t, func() error { return d.begin(t.Context(), who+3) })
		anew.lap(t, func() error { return d.begin(t.Context(), who+9) })
	}
	d.quantiles("the logins of one user", &own)
	d.quantiles("login, its transaction", &again)
	d.quantiles("login, its transaction, by who had logged out", &anew)
}

// uses measures what uses cost: one near the end of the idle timeout, which is
// written before it is answered, and those that are written behind.
func (d *deployment) uses(t testing.TB, times int) {
	t.Helper()
	living := func(k int) idworker.ID { return idworker.ID(d.at(d.far(k)*10 + 2).token) }
	var near, behind stopwatch
	for k := range times {
		used := time.Now()
		near.lap(t, func() error {
			got, err := d.sessions.Settle(t.Context(), living(k), used)
			if err == nil && !got.Alive() {
				t.Fatalf("settled: %q, want it alive", got.Ended)
			}
			return err
		})
	}
	for k := range times / 10 {
		seen := make(map[idworker.ID]time.Time)
		for i := range 200 {
			seen[living(times+k*200+i)] = time.Now()
		}
		behind.lap(t, func() error {
			rows, err := d.sessions.TouchAll(t.Context(), seen, time.Millisecond)
			if err == nil && len(rows) != len(seen) {
				t.Fatalf("%d of %d uses are written", len(rows), len(seen))
			}
			return err
		})
	}
	d.quantiles("use near the idle end, written before its answer", &near)
	d.quantiles("200 uses, written behind", &behind)
}

// far is a tenth of the people's numbers, the k-th of which lies far from the
// one before.
func (d *deployment) far(k int) int { return k * 7_919 % (d.n / 10) }
