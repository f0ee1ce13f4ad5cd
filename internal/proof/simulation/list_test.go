package simulation

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// rowsOf is the database as the list of logins reads it.
type rowsOf struct {
	operator.Logins // nothing else of it is asked
	link            *link
}

func (r rowsOf) Newest(ctx context.Context, above, below idworker.ID, limit int) ([]session.Session, error) {
	l := r.link
	asOf := l.clock()
	// While a lower limit is carried out, those of a user on the page that are too many end.
	for _, u := range l.users {
		l.mu.Lock()
		many := l.slots > 0 && l.tooMany(u) && l.has(listReduces)
		l.mu.Unlock()
		if many {
			if err := l.reduce(ctx, u); err != nil {
				return nil, err
			}
		}
	}
	return ask(ctx, l.wire, func() (page []session.Session, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		above = max(above, l.global)
		for _, u := range l.all() {
			if id := u.current.ID; id > above && id < below {
				page = append(page, l.currentOf(u, asOf))
			}
		}
		slices.SortFunc(page, func(a, b session.Session) int { return cmp.Compare(b.ID, a.ID) })
		return page[:min(limit, len(page))], nil
	})
}

// list is the logins that an operator is shown by an instance.
func (i *instance) list() (shown []idworker.ID, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	defer cancel()
	sessions := &operator.Sessions{
		Logins: rowsOf{link: i.db}, Policy: i.rule, Now: i.db.clock,
		Clock: func() time.Time { now, _ := i.feed.Clock(); return now },
	}
	for next := idworker.ID(math.MaxInt64); next != 0; {
		page, err := sessions.List(ctx, "", next, 2) // few, so that there are several pages
		if err != nil {
			return nil, err
		}
		for _, l := range page.Logins {
			shown = append(shown, l.ID)
		}
		next = page.Next
	}
	return shown, nil
}

// listed holds that each instance lists the logins whose rows live, and no others,
// when nothing was broken for two bounds.
func (w *world) listed() {
	for _, p := range w.places {
		i := p.instance.Load()
		before := w.living(-slack) // what ends about now may be on the list or not
		shown, err := i.list()
		after := w.living(slack)
		switch slices.Sort(shown); {
		case err != nil:
			w.judge.blame("OneStory: %s lists no logins, long after all trouble is over: %v", i.name, err)
		case slices.Equal(before, after) && !slices.Equal(shown, after):
			w.judge.blame("OneStory: %s lists %v, long after all trouble is over; by the rows %v live", i.name, shown, after)
		}
		w.lists += len(shown)
	}
}

// living is the logins whose rows live so long after now, by the policy in force.
func (w *world) living(after time.Duration) (ids []idworker.ID) {
	w.db.mu.Lock()
	defer w.db.mu.Unlock()
	for id, l := range w.db.logins {
		if w.db.livedAt(l, w.db.now().Add(after)) && !slices.Contains(w.db.beyond(w.db.users[l.user-1]), id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
