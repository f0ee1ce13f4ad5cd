package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

var reasons = []session.Reason{
	session.LoggedOut, session.Replaced, session.Revoked, session.PasswordChanged,
	session.Disabled, session.Expired, session.Idle,
}

// A world is a service over two stores that hold one living session, seen just
// now, and a writer; all write their calls into one list.
type world struct {
	service *session.Service
	near    *store
	truth   *rows
	known   *known
	rows    *writer
	token   flakepass.Token
	now     time.Time
	calls   *strings.Builder
	settled []session.Session
}

// rows are the store that decides, by the policy of the service.
type rows struct {
	store
	world *world
	used  time.Time
}

func (r *rows) Settle(_ context.Context, _ idworker.ID, used time.Time) (session.Session, error) {
	r.calls.WriteString("truth.Settle ")
	if r.err != nil {
		return session.Session{}, r.err
	}
	s, rule := r.s, r.world.rule()
	switch {
	case !s.Alive():
	case s.Expiry(rule).Expired(r.world.issued(), r.world.known.clock):
		s.Ended = session.Expired
	case s.Expiry(rule).Idled(s.Seen, r.world.known.clock):
		s.Ended = session.Idle
	case used.Sub(s.Seen) >= s.Expiry(rule).Touch:
		r.used, s.Seen = used, used
	}
	return s, nil
}

// known is what the polls have brought.
type known struct {
	floor     idworker.ID
	watermark time.Time
	clock     time.Time // zero: never read
	late      func()    // called when the floor is looked at
}

func (k *known) Global() idworker.ID {
	if k.late != nil {
		k.late()
	}
	return k.floor
}
func (k *known) Watermark() time.Time                { return k.watermark }
func (k *known) ClockAt(time.Time) (time.Time, bool) { return k.clock, !k.clock.IsZero() }

func newWorld(t *testing.T) *world {
	t.Helper()
	now := time.UnixMilli(1_800_000_000_000).UTC()
	w := &world{now: now, calls: &strings.Builder{}}
	w.token = flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(now.Add(-48*time.Hour)) + 12345))
	s := session.Session{
		ID: session.IDOf(w.token), UserID: 42, Username: "ada", Role: "user", Hash: session.HashOf(w.token), Seen: now, AsOf: now,
	}
	w.near, w.truth = &store{name: "near", calls: w.calls, s: s}, &rows{store: store{name: "truth", calls: w.calls, s: s}, world: w}
	w.known = &known{clock: now}
	w.rows = &writer{calls: w.calls, s: s}
	w.service = &session.Service{
		Store: w.near, Rows: w.truth, Writer: w.rows, IDs: minter{now}, EventIDs: minter{now}, Policy: policy.Fixed(policy.Default()),
		Known: w.known, Near: 5 * time.Second, Settled: func(s session.Session) { w.settled = append(w.settled, s) },
		Now: func() time.Time { return now },
	}
	return w
}

func (w *world) rule() *policy.Policy { return w.service.Policy.Current() }

func (w *world) issued() time.Time { return idworker.Default().Time(session.IDOf(w.token)) }

func (w *world) wantCalls(t *testing.T, want string) {
	t.Helper()
	if got := w.calls.String(); got != want {
		t.Errorf("calls: %q, want %q", got, want)
	}
}

// A store holds one session.
type store struct {
	name      string
	calls     *strings.Builder
	s         session.Session
	err       error
	touchErr  error
	hearErr   error
	touched   time.Time
	published session.Session
}

func (s *store) change(f func(*session.Session)) { f(&s.s) }

func (s *store) Get(_ context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	s.calls.WriteString(s.name + ".Get ")
	if s.err != nil {
		return session.Session{}, s.err
	}
	if id != s.s.ID {
		return session.Session{}, session.ErrNotFound
	}
	return s.s, nil
}

func (s *store) Touch(_ context.Context, _ idworker.ID, seen time.Time) error {
	s.calls.WriteString(s.name + ".Touch ")
	s.touched = seen
	return s.touchErr
}

func (s *store) Publish(_ context.Context, ended ...session.Session) error {
	for _, one := range ended {
		s.calls.WriteString(s.name + ".Publish ")
		s.published = one
	}
	return s.hearErr
}

// A writer has one session, of user 42.
type writer struct {
	calls   *strings.Builder
	s       session.Session
	err     error
	refuses int // so many IDs are another's
	tried   []session.Opening
	ending  session.Ending
}

func (b *writer) Begin(_ context.Context, o session.Opening) (session.Begun, error) {
	b.calls.WriteString("Begin ")
	b.tried = append(b.tried, o)
	if b.err != nil {
		return session.Begun{}, b.err
	}
	if above := max(b.s.ID, o.ID); len(b.tried) <= b.refuses || o.ID <= b.s.ID {
		return session.Begun{}, &session.IDError{Above: above}
	}
	begun := session.Begun{Session: session.Session{
		ID: o.ID, UserID: o.UserID, Username: "ada", Role: "user", Hash: o.Hash, Device: o.Device, Seen: o.Seen, AsOf: o.Seen,
	}}
	if b.s.ID != 0 {
		old := b.s
		old.Ended = session.Replaced
		begun.Replaced = []session.Session{old}
	}
	return begun, nil
}

func (b *writer) EndUser(context.Context, session.Ending, idworker.ID) ([]session.Session, error) {
	return nil, session.ErrNotFound
}

func (b *writer) End(_ context.Context, e session.Ending) (session.Session, error) {
	b.ending = e
	b.calls.WriteString("End ")
	switch {
	case b.err != nil:
		return session.Session{}, b.err
	case e.ID != b.s.ID || !e.Hash.Equal(&b.s.Hash):
		return session.Session{}, session.ErrNotFound
	}
	ended := b.s
	ended.Before = !b.s.Alive()
	if b.s.Alive() {
		b.s.Ended = e.Reason
		ended.Ended = e.Reason
	}
	return ended, nil
}

type minter struct{ now time.Time }

var errNoID = errors.New("no ID")

func (m minter) NextAfter(_ context.Context, floor idworker.ID) (idworker.ID, error) {
	if m.now.IsZero() {
		return 0, errNoID
	}
	return max(floor+1, idworker.Default().Smallest(m.now)), nil
}

func (m minter) Next(ctx context.Context) (idworker.ID, error) { return m.NextAfter(ctx, 0) }

// A counter mints IDs one after the other.
type counter struct{ next idworker.ID }

func (c *counter) NextAfter(_ context.Context, floor idworker.ID) (idworker.ID, error) {
	c.next = max(c.next, floor) + 1
	return c.next, nil
}

// A latePolicy changes once the near store was asked.
type latePolicy struct {
	*world
	before, after policy.Policy
}

func (p *latePolicy) Current() *policy.Policy {
	if p.calls.Len() == 0 {
		return &p.before
	}
	return &p.after
}
