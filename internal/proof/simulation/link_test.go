package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A link is the database as one instance sees it. Each verb is the one of that
// name in sqlstore, statement by statement.
type link struct {
	*database
	wire *wire
	skew time.Duration // of the clock of this instance
}

func (l *link) clock() time.Time { return time.Now().Add(l.skew) }

// again runs f, and runs it once more after an error that says so.
func again[T any](ctx context.Context, l *link, tries int, f func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		got, err := ask(ctx, l.wire, f)
		unsettled := errors.Is(err, session.ErrUnsettled) && try < tries
		if !unsettled && !errors.Is(err, errMoved) {
			return got, err
		}
		select {
		case <-ctx.Done():
			return got, ctx.Err()
		case <-time.After(time.Duration(min(try, 8)) * time.Millisecond):
		}
	}
}

func (l *link) Get(ctx context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	s, _, err := l.Read(ctx, id)
	return s, err
}

// Read looks for the current login of a user first, and then for the last ended one. Between the two much may happen.
func (l *link) Read(ctx context.Context, id idworker.ID) (session.Session, session.Basis, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	type answer struct {
		session.Session
		session.Basis
		many *row // of a user who has too many
	}
	read := l.clock()
	find := func() (answer, error) {
		for _, before := range []bool{false, true} {
			if a, ok := func() (answer, bool) {
				l.mu.Lock()
				defer l.mu.Unlock()
				basis := session.Basis{Version: l.policy.Version, Now: l.now()}
				u := l.holder(id, before)
				switch {
				case u == nil:
					return answer{}, false
				case before:
					return answer{l.endedOf(u, read), basis, nil}, true
				case l.excess(u):
					return answer{l.currentOf(u, read), basis, u.user}, true
				}
				return answer{l.currentOf(u, read), basis, nil}, true
			}(); ok {
				return a, nil
			}
			l.between()
		}
		return answer{}, session.ErrNotFound
	}
	got, err := ask(ctx, l.wire, find)
	if err == nil && got.many != nil {
		if err := l.reduce(ctx, got.many); err != nil {
			return session.Session{}, session.Basis{}, err
		}
		read = l.clock()
		got, err = ask(ctx, l.wire, find)
	}
	if !l.has(asOf) {
		got.AsOf = l.clock()
	}
	return got.Session, got.Basis, err
}

func (l *link) Touch(context.Context, idworker.ID, time.Time) error {
	return errors.New("simulation: no row is touched that way")
}

func (l *link) Publish(context.Context, ...session.Session) error { return nil }

func (l *link) LoadPolicy(ctx context.Context) (policy.Policy, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	return ask(ctx, l.wire, func() (policy.Policy, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.policy, nil
	})
}

func (l *link) News(ctx context.Context, since time.Time, keep time.Duration) (session.News, error) {
	if l.wire.cutsPoll() {
		<-ctx.Done()
		return session.News{}, errCut
	}
	return ask(ctx, l.wire, func() (session.News, error) {
		steady := l.steadyNow()
		l.mu.Lock()
		news := session.News{Now: l.now(), Global: l.global, Policy: l.policy, Steady: steady, Server: "one"}
		l.mu.Unlock()
		l.settings.releaseIf(steady && l.has(fence))
		l.between()
		l.mu.Lock()
		defer l.mu.Unlock()
		if since.IsZero() {
			since = news.Now.Add(-keep)
		}
		for _, u := range l.all() {
			if u.floor != 0 && !u.stamp.Before(since) && (u.slot == 0 || l.has(slotNews)) {
				why := session.Revoked
				if u.ended.ID == u.floor {
					why = u.ended.Ended
				}
				news.Ends = append(news.Ends, session.End{UserID: u.id, Slot: u.slot, Floor: u.floor, Reason: why, At: u.stamp})
			}
		}
		return news, nil
	})
}

// steadyNow takes the share lock of the settings, if they are free.
func (l *link) steadyNow() bool {
	if !l.has(fence) {
		return true
	}
	_, ok := l.settings.try(true)
	return ok
}

func (l *lock) releaseIf(share bool) {
	if share {
		l.release(true)
	}
}

// Begin is a new login. The row is locked first.
func (l *link) Begin(ctx context.Context, o session.Opening) (session.Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	var start time.Time
	begun, err := again(ctx, l, 0, func() (session.Begun, error) {
		start = time.Now()
		t := l.begin(ctx)
		defer t.end()
		return t.login(o, l.clock())
	})
	if err == nil {
		err = l.restamp(ctx, o.UserID, start)
	}
	return begun, err
}

func (t *tx) login(o session.Opening, asOf time.Time) (begun session.Begun, err error) {
	u := t.users[o.UserID-1]
	if err := t.hold(u); err != nil {
		return begun, err
	}
	if err := t.next(); err != nil {
		return begun, err
	}
	t.mu.Lock()
	above, disabled := t.highest(u), u.disabled
	t.mu.Unlock()
	if disabled {
		return begun, errDisabled
	}
	if err := t.next(); err != nil {
		return begun, err
	}
	if o.ID <= above {
		return begun, &session.IDError{Above: above}
	}
	seen := o.Seen
	if issued := idworker.Default().Time(o.ID); issued.After(seen) {
		seen = issued
	}
	t.mu.Lock()
	stamp, rows, rule := t.now(), t.rowsOf(u, asOf), t.policy
	t.mu.Unlock()
	ends, slot, _ := session.Room(sessionsOf(rows), &rule, o.Device, o.Place.Instead, overBy(rule, stamp))
	changes := make([]func(), 0, len(ends)+1)
	into := rowIn(rows, slot)
	if into == nil {
		into = &row{id: u.id, slot: slot, user: u}
		changes = append(changes, func() { u.further = append(u.further, into) })
	}
	ended := false // in that slot
	for i := range ends {
		old := &ends[i]
		if old.Alive() {
			old.Ended = session.Replaced
		}
		change, err := t.endRow(rowIn(rows, old.Slot), old.ID, old.Ended)
		if err != nil {
			return begun, err
		}
		changes, ended = append(changes, change), ended || old.Slot == slot
	}
	if err := t.hold(into); err != nil {
		return begun, err
	}
	changes = append(changes, func() {
		if !ended {
			t.stampNow(into, stamp)
		}
		into.current = session.Session{
			ID: o.ID, UserID: u.id, Username: "u", Role: roleOf(u), Hash: o.Hash, Device: o.Device, Auth: o.Place.Issued.How(), Slot: slot, Seen: seen.Truncate(time.Millisecond).UTC(),
		}
		t.born(into.current)
		begun.Session = t.currentOf(into, asOf)
	})
	begun.Replaced = ends
	return begun, t.commitAll(changes)
}

func (l *link) End(ctx context.Context, e session.Ending) (session.Session, error) {
	return l.endAs(ctx, e, false)
}

// EndUser ends all logins of a user but one, with an event in the same transaction.
func (l *link) EndUser(ctx context.Context, e session.Ending, keep idworker.ID) ([]session.Session, error) {
	l.mu.Lock()
	further := l.slots > 0
	l.mu.Unlock()
	if further {
		return l.endUser(ctx, e, keep)
	}
	ended, err := l.endAs(ctx, e, true)
	if err != nil {
		return nil, err
	}
	return []session.Session{ended}, nil
}

type ended struct {
	session.Session
	before bool
	start  time.Time
}

func (l *link) endAs(ctx context.Context, e session.Ending, event bool) (session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	got, err := again(ctx, l, 0, func() (ended, error) { return l.endOne(ctx, e, event) })
	if err == nil && got.before {
		got.start = time.Time{}
		if !l.has(stampAlways) {
			got.start = time.Now()
		}
	}
	if err != nil && errors.Is(err, session.ErrNotFound) && e.ID == 0 && l.has(stampAlways) {
		if again := l.stampAgain(ctx, e.UserID); again != nil && l.has(stampOrFail) {
			err = again
		}
	}
	if err == nil {
		err = l.restamp(ctx, got.UserID, got.start)
	}
	got.Before = got.before
	return got.Session, err
}

// endOne reads the row without a lock, and ends its login by one statement that
// compares and sets. The statement has its stamp before it waits for the row.
func (l *link) endOne(ctx context.Context, e session.Ending, event bool) (got ended, err error) {
	got.start = time.Now()
	asOf := l.clock()
	l.mu.Lock()
	var u *row
	if e.ID == 0 {
		u = l.users[e.UserID-1]
	} else {
		u = l.holder(e.ID, false)
	}
	var last session.Session
	if u != nil {
		got.Session, last = l.currentOf(u, asOf), l.endedOf(u, asOf)
	}
	l.mu.Unlock()
	if u == nil {
		l.between()
		l.mu.Lock()
		defer l.mu.Unlock()
		u = l.holder(e.ID, true)
		if u == nil || e.Record == nil && !u.ended.Hash.Equal(&e.Hash) {
			if was := l.logins[e.ID]; was != nil {
				was.forgotten = true
			}
			return got, session.ErrNotFound
		}
		got.Session, got.before = l.endedOf(u, asOf), true
		return got, nil
	}
	event = event || e.Record != nil && e.Hash == session.Hash{} // an operator, or the user: they name it by its ID
	switch {
	case got.ID == 0 && event && last.Ended == e.Reason:
		got.Session, got.before = last, true
		return got, nil
	case got.ID == 0, !event && !got.Hash.Equal(&e.Hash):
		return got, session.ErrNotFound
	case !got.Alive():
		got.before = true
		return got, nil
	}
	t := l.begin(ctx)
	defer t.end()
	if by := actor(e); by != 0 && !l.acts(u.user, by) {
		return got, errDenied
	}
	if _, err := t.change(u, got.ID, event, e.Reason, nil); err != nil {
		return got, err
	}
	got.Ended = e.Reason
	return got, nil
}

// change is one UPDATE of a row that has that login, or 0 for none, and ends it.
// If there is more in the transaction, the client has to send the COMMIT. With also, it
// changes the account, and ends the logins in further slots, which it returns.
func (t *tx) change(u *row, id idworker.ID, more bool, why session.Reason, also func()) (further []session.Session, err error) {
	if err := t.next(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	stamp := t.now()
	t.mu.Unlock()
	if err := t.hold(u); err != nil {
		return nil, err
	}
	t.mu.Lock()
	same, rows := u.current.ID == id, t.rowsOf(u, time.Time{})
	t.mu.Unlock()
	if !same {
		return nil, errMoved
	}
	changes := []func(){func() {
		if id != 0 {
			t.database.end(u, why, stamp)
		} else {
			t.stampNow(u, stamp)
		}
	}}
	if also != nil {
		changes = append(changes, also)
		if t.has(everySlot) {
			var ends []func()
			further, ends, err = t.endSlots(rows[1:], why, 0, true)
			changes = append(changes, ends...)
		}
	}
	if err == nil && more {
		err = t.next()
	}
	if err != nil {
		return nil, err
	}
	return further, t.commit(func() {
		for _, change := range changes {
			change()
		}
	})
}

// Account changes the account of a user in a way that ends its login: another
// password, role or second factor, or the account is disabled. What is so already
// is stamped anew.
func (l *link) Account(ctx context.Context, user idworker.ID, disable bool) ([]session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	u := l.users[user-1]
	why := session.PasswordChanged
	if disable {
		why = session.Disabled
	}
	type result struct {
		list   []session.Session
		before bool
		start  time.Time
	}
	got, err := again(ctx, l, 0, func() (got result, err error) {
		got.start = time.Now()
		asOf := l.clock()
		l.mu.Lock()
		was := l.currentOf(u, asOf)
		if got.before = disable && u.disabled; got.before {
			for _, r := range l.rowsOf(u, asOf) {
				if last := l.endedOf(r.row, asOf); last.Ended == why {
					got.list = append(got.list, last)
				}
			}
		}
		l.mu.Unlock()
		if got.before {
			return got, nil
		}
		t := l.begin(ctx)
		defer t.end()
		further, err := t.change(u, was.ID, true, why, func() { u.disabled = u.disabled || disable })
		if was.ID != 0 {
			was.Ended = why
			got.list = append(got.list, was)
		}
		got.list = append(got.list, further...)
		return got, err
	})
	if err != nil {
		return nil, err
	}
	if got.before {
		got.start = time.Time{}
		if !l.has(stampAlways) {
			got.start = time.Now()
		}
	}
	return got.list, l.restamp(ctx, user, got.start)
}

// Enable lets a user log in again.
func (l *link) Enable(ctx context.Context, user idworker.ID) error {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	_, err := ask(ctx, l.wire, func() (struct{}, error) {
		t := l.begin(ctx)
		defer t.end()
		u := l.users[user-1]
		if err := t.take(&u.lock, false); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, t.commit(func() { u.disabled = false })
	})
	return err
}

// restamp stamps an end anew that took long.
func (l *link) restamp(ctx context.Context, user idworker.ID, start time.Time) error {
	if time.Since(start) < late || user == 0 || !l.has(promptOrAgain) {
		return nil
	}
	return l.stampAgain(ctx, user)
}

func (l *link) stampAgain(ctx context.Context, user idworker.ID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.tau)
	defer cancel()
	u := l.users[user-1]
	l.mu.Lock()
	further := l.slots > 0
	l.mu.Unlock()
	err := l.stampRows(ctx, func() []*row { return []*row{u} })
	if err == nil && further {
		err = l.stampRows(ctx, func() []*row { return slotsOf(u)[1:] })
	}
	return err
}

// stampRows is one statement, about the rows of one table.
func (l *link) stampRows(ctx context.Context, of func() []*row) error {
	_, err := ask(ctx, l.wire, func() (struct{}, error) {
		t := l.begin(ctx)
		defer t.end()
		t.mu.Lock()
		stamp, rows := t.now(), of()
		t.mu.Unlock()
		var old []*row
		for _, u := range rows {
			if err := t.hold(u); err != nil {
				return struct{}{}, err
			}
			t.mu.Lock()
			if u.floor > 0 && u.stamp.Before(stamp.Add(-late)) {
				old = append(old, u)
			}
			t.mu.Unlock()
		}
		if len(old) == 0 {
			return struct{}{}, nil
		}
		return struct{}{}, t.commit(func() {
			for _, u := range old {
				u.stamp = stamp
			}
		})
	})
	return err
}

// EndAll raises the global floor.
func (l *link) EndAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	now := l.clock()
	_, err := ask(ctx, l.wire, func() (struct{}, error) {
		t := l.begin(ctx)
		defer t.end()
		t.mu.Lock()
		var highest idworker.ID
		for _, u := range t.all() {
			highest = max(highest, u.current.ID, u.floor)
		}
		if there := t.now(); there.Before(now) {
			now = there
		}
		t.mu.Unlock()
		if err := t.next(); err != nil {
			return struct{}{}, err
		}
		if err := t.take(&t.settings, false); err != nil {
			return struct{}{}, err
		}
		if err := t.next(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, t.commit(func() {
			t.global = max(t.global, highest, idworker.Default().Smallest(now))
			for _, u := range t.all() {
				if u.current.ID != 0 && u.current.ID <= t.global {
					t.died(u.current.ID, t.now(), session.Revoked) // each poll brings the floor
				}
			}
		})
	})
	return err
}
