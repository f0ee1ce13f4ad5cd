package operator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Every login that lives is on one page, in order, and no other is on any,
// whatever lies between them.
func TestListHasTheLivingOnce(t *testing.T) {
	d := newDesk(t)
	var want []idworker.ID
	for i := range 120 {
		seen := now
		if i%3 == 0 {
			seen = now.Add(-d.rule.Idle)
		}
		s := d.login(1, seen)
		if i%7 == 0 {
			d.end(func(o session.Session) bool { return o.ID == s.ID })
		} else if i%3 != 0 {
			want = append([]idworker.ID{s.ID}, want...)
		}
	}
	for _, limit := range []int{1, 2, 7, 50, 119, 120, 200} {
		var got []idworker.ID
		for before := idworker.ID(0); ; {
			p, err := d.sessions.List(t.Context(), "", before, limit)
			if err != nil || len(p.Logins) > limit {
				t.Fatalf("limit %d: %d, %v", limit, len(p.Logins), err)
			}
			for _, l := range p.Logins {
				got = append(got, l.ID)
			}
			if before = p.Next; before == 0 {
				break
			}
		}
		if len(got) != len(want) {
			t.Fatalf("pages of %d: %d logins, want %d", limit, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("pages of %d: number %d is %v, want %v", limit, i, got[i], want[i])
			}
		}
	}
}

// What is idle is looked at and left out: so many for one page, and no more.
func TestOnePageLooksAtSoManyLoginsOnly(t *testing.T) {
	d := newDesk(t)
	oldest := d.login(1, now)
	for range 3*operator.MaxLook + 5 {
		d.login(1, now.Add(-d.rule.Idle-time.Second))
	}
	pages := 0
	for before := idworker.ID(0); ; pages++ {
		d.asked = 0
		p, err := d.sessions.List(t.Context(), "", before, 50)
		if err != nil || d.asked > operator.MaxLook {
			t.Fatalf("page %d looked at %d logins, %v", pages, d.asked, err)
		}
		if before = p.Next; before == 0 {
			if len(p.Logins) != 1 || p.Logins[0].ID != oldest.ID {
				t.Errorf("the last page: %+v", p)
			}
			break
		}
		if len(p.Logins) != 0 {
			t.Errorf("page %d has %+v", pages, p.Logins)
		}
	}
	if pages != 3 {
		t.Errorf("%d pages of nothing, want 3", pages)
	}
}

// What has expired is behind the last row that is looked at.
func TestListStopsAtTheWatermark(t *testing.T) {
	d := newDesk(t)
	d.last = idworker.Default().Smallest(now.Add(-d.rule.Absolute - time.Hour))
	for range 500 {
		d.login(1, now)
	}
	d.last = idworker.Default().Smallest(now)
	s := d.login(1, now)
	p, err := d.sessions.List(t.Context(), "", 0, 50)
	if err != nil || len(p.Logins) != 1 || p.Logins[0].ID != s.ID || p.Next != 0 || d.asked != 1 {
		t.Errorf("%d logins, next %v, looked at %d, %v", len(p.Logins), p.Next, d.asked, err)
	}
	if l := p.Logins[0]; !l.ExpiresAt.Equal(l.IssuedAt.Add(d.rule.Absolute)) || !l.IdleExpiresAt.Equal(now.Add(d.rule.Idle)) {
		t.Errorf("%+v", l)
	}
}

func TestOneLogin(t *testing.T) {
	d := newDesk(t)
	s, idle := d.login(1, now), d.login(2, now.Add(-d.rule.Idle))
	if l, err := d.sessions.Get(t.Context(), s.ID); err != nil || l.ID != s.ID || l.ExpiresAt.IsZero() {
		t.Errorf("Get: %+v, %v", l, err)
	}
	for _, id := range []idworker.ID{idle.ID, 5} {
		if _, err := d.sessions.Get(t.Context(), id); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Get of %v: %v", id, err)
		}
	}
	if ended, err := d.sessions.End(t.Context(), by, s.ID, "stolen"); err != nil || ended.ID != s.ID || ended.Before {
		t.Errorf("End: %+v, %v", ended, err)
	}
	e := d.events[0]
	if e.Action != audit.LoginEnded || e.Target != (audit.Target{Kind: "login", ID: s.ID, Name: "alice"}) || e.Reason != "stolen" || e.By != by ||
		!strings.Contains(string(e.Old), `"user_id":"1"`) {
		t.Errorf("event %+v %s", e, e.Old)
	}
	// Ended again, it is published again, and recorded once.
	if ended, err := d.sessions.End(t.Context(), by, s.ID, ""); err != nil || !ended.Before || len(d.events) != 1 || len(d.published) != 2 {
		t.Errorf("End again: %+v, %v, %d events, published %d times", ended, err, len(d.events), len(d.published))
	}
	if _, err := d.sessions.Get(t.Context(), s.ID); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("Get of what has ended: %v", err)
	}
	if ended, err := d.sessions.End(t.Context(), by, idle.ID, ""); err != nil || !ended.Before || ended.Ended != session.Idle {
		t.Errorf("End of an idle one: %+v, %v", ended, err)
	}
	if _, err := d.sessions.End(t.Context(), by, 5, ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("End of nothing: %v", err)
	}
}

type raiser func(idworker.ID)

func (r raiser) Raise(floor idworker.ID) { r(floor) }

func TestEndOfAllIsCountedAndRecorded(t *testing.T) {
	d := newDesk(t)
	raised := false
	d.sessions.Here = raiser(func(floor idworker.ID) { raised = d.floor != 0 && floor == d.floor })
	done, err := d.sessions.EndAll(t.Context(), by, "a leak")
	if err != nil || done.Lived == nil || *done.Lived != (policy.Estimate{Count: 12, Error: 3}) || done.Floor != d.floor || !raised {
		t.Errorf("EndAll: %+v, %v, reported %v", done, err, raised)
	}
	if e := d.events[0]; e.Action != audit.AllLoginsEnded || e.Reason != "a leak" || string(e.New) != `{"ended":12,"ended_error":3}` || e.By != by {
		t.Errorf("event %+v %s", e, e.New)
	}
	if _, err := d.sessions.EndAll(t.Context(), by, strings.Repeat("x", 1001)); err == nil || len(d.events) != 1 {
		t.Errorf("a reason that is too long: %v", err)
	}
	// It works although the logins cannot be counted.
	d.floor = 0
	d.sessions.Counted = func(context.Context, policy.Policy, time.Time) (policy.Estimate, error) {
		return policy.Estimate{}, context.DeadlineExceeded
	}
	if done, err := d.sessions.EndAll(t.Context(), by, ""); err != nil || done.Lived != nil || d.floor == 0 || d.events[1].New != nil {
		t.Errorf("not counted: %+v, %v, %+v", done, err, d.events)
	}
}

// The floor is of the clock that mints IDs, and the store takes the database's where
// that is behind. What lives is counted by the database's.
func TestEndOfAllGoesByTheRightClocks(t *testing.T) {
	d := newDesk(t)
	mints := time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)
	d.sessions.Now = func() time.Time { return mints }
	d.sessions.Clock = func() time.Time { return mints.Add(-time.Hour) }
	var counted time.Time
	d.sessions.Counted = func(_ context.Context, _ policy.Policy, now time.Time) (policy.Estimate, error) {
		counted = now
		return policy.Estimate{}, nil
	}
	if _, err := d.sessions.EndAll(t.Context(), by, ""); err != nil || !d.ended.Equal(mints) || !counted.Equal(mints.Add(-time.Hour)) {
		t.Errorf("ended as of %v, and counted as of %v: %v", d.ended, counted, err)
	}
}

func TestStatsAddUp(t *testing.T) {
	d := newDesk(t)
	n, err := d.stats.Count(t.Context())
	if err != nil || n.Users != (policy.Estimate{Count: 113, Error: 5}) || n.Roles[account.RoleAdmin].Count != 3 ||
		n.Disabled.Count != 4 || n.Live.Count != 12 || n.Classes["phone"].Count != 2 || n.Classes["other"].Count != 1 || n.Classes["watch"].Count != 1 || n.Classes["tv"].Count != 0 {
		t.Errorf("Count: %+v, %v", n, err)
	}
}

// kept is the logins of a desk.
type kept struct{ d *desk }

func (b kept) Newest(_ context.Context, above, below idworker.ID, limit int) (page []session.Session, err error) {
	for _, s := range slices.Backward(b.d.logins) {
		if s.ID > above && s.ID < below && len(page) < limit {
			page = append(page, s)
		}
	}
	b.d.asked += len(page)
	b.d.pages++
	return page, nil
}

func (b kept) Get(_ context.Context, id idworker.ID) (session.Session, error) {
	for _, s := range b.d.logins {
		if s.ID == id {
			return s, nil
		}
	}
	return session.Session{}, session.ErrNotFound
}

func (b kept) End(_ context.Context, e session.Ending) (session.Session, error) {
	for i := range b.d.logins {
		s := &b.d.logins[i]
		if s.ID != e.ID {
			continue
		}
		if !s.Alive() {
			s.Before = true
			return *s, nil
		}
		ev, err := e.Event(*s)
		if err != nil {
			return session.Session{}, err
		}
		s.Ended, b.d.events = e.Reason, append(b.d.events, ev)
		return *s, nil
	}
	return session.Session{}, session.ErrNotFound
}

func (b kept) EndUser(_ context.Context, e session.Ending, keep idworker.ID) ([]session.Session, error) {
	ended := b.d.end(func(s session.Session) bool { return s.UserID == e.UserID && s.ID != keep && s.Of(e.Class) })
	if len(ended) == 0 {
		return nil, session.ErrNotFound
	}
	ev, err := e.EventOfUser(ended)
	b.d.events = append(b.d.events, ev)
	return ended, err
}

func (d *desk) EndAll(_ context.Context, now time.Time, events ...audit.Event) (idworker.ID, error) {
	d.ended = now
	d.floor, d.events = d.last, append(d.events, events...)
	return d.floor, nil
}

func (d *desk) CountUsers(_ context.Context, role account.Role) (policy.Estimate, error) {
	return map[account.Role]policy.Estimate{account.RoleUser: {Count: 100, Error: 3}, account.RoleService: {Count: 10, Error: 4}, account.RoleAdmin: {Count: 3}}[role], nil
}

func (d *desk) CountDisabled(context.Context) (policy.Estimate, error) {
	return policy.Estimate{Count: 4}, nil
}

func (d *desk) CountLogins(context.Context, policy.Policy, time.Time) (policy.Estimate, error) {
	return policy.Estimate{Count: 12, Error: 3}, nil
}

// Sample is all logins, one of them of a class that the policy does not have.
func (d *desk) Sample(context.Context, policy.Policy, time.Time) (policy.Sample, error) {
	live := func(class string, seen time.Time) policy.Facts {
		return policy.Facts{Issued: seen, Seen: seen, Class: class, Role: "user"}
	}
	return policy.Sample{Logins: []policy.Facts{
		live("phone", now), live("phone", now), live("watch", now), live("other", now), live("tv", now.Add(-d.rule.Idle)),
	}, Weight: 1}, nil
}

// TestListOfAClassHasNoOther: and a rare one costs no more than a page may.
func TestListOfAClassHasNoOther(t *testing.T) {
	d := newDesk(t)
	var want []idworker.ID
	for i := range 5000 {
		s := d.login(1, now)
		if i%1000 == 0 {
			d.logins[len(d.logins)-1].Device = session.DeviceOf("tv", "")
			want = append([]idworker.ID{s.ID}, want...)
		}
	}
	var got []idworker.ID
	pages := 0
	for before := idworker.ID(0); ; pages++ {
		p, err := d.sessions.List(t.Context(), "tv", before, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range p.Logins {
			got = append(got, l.ID)
		}
		if before = p.Next; before == 0 {
			break
		}
	}
	if !slices.Equal(got, want) || pages < 2 {
		t.Errorf("%v in %d pages, want %v in several", got, pages, want)
	}
}
