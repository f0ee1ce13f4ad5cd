//go:build unix

package gormstore_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/admin"
	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/migrations"
)

// TestNothingThatIsOverReturns runs two instances on one database, with three
// clocks that are set forward and back, through random edits of the policy,
// sweeps, logins and uses. At every question it holds that
//
//   - what was swept, or replaced, is refused for ever;
//   - what was over when the policy was edited is refused by whoever knows of the
//     edit, whatever any clock says later;
//   - what an instance has refused it refuses until its clock is set back;
//   - everything else is decided exactly by what is known: a shorter timeout ends
//     what it should, a longer one extends what still lives.
//
// A login that an instance still lets in, because it has not heard of an edit or
// its clock is behind, counts as used. That is not a return: it is a later use.
func TestNothingThatIsOverReturns(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		other := open(t, w.options)
		if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
			defer func() { _ = checks.Value.Set(checks.DefValue) }()
			few := "12" // what is over is arithmetic, which all databases do alike
			if w.Dialect() == migrations.SQLite {
				few = "40"
			}
			_ = checks.Value.Set(few) // give the flag for more
		}
		rapid.Check(t, func(rt *rapid.T) {
			l := newLives(t, rt, w, other)
			rt.Repeat(map[string]func(*rapid.T){
				"":       l.look,
				"login":  l.login,
				"ask":    l.ask,
				"wait":   l.wait,
				"step":   l.step,
				"edit":   l.edit,
				"edit 2": l.edit, // more often
				"revert": l.revert,
				"hear":   func(rt *rapid.T) { l.hear(rt, l.pick(rt)) },
				"sweep":  l.sweep,
			})
		})
	})
}

const crowd = 6 // users

// lives is a deployment of two instances.
type lives struct {
	ctx    context.Context //nolint:containedctx // of the one test
	w      *world
	nodes  [2]*node
	db     time.Time // its clock
	serial idworker.ID
	logins []*life
	edits  []mark
}

// A node is an instance.
type node struct {
	store    *gormstore.DB
	rule     *policy.Live
	service  *session.Service
	policies *admin.Policies
	now      time.Time
	heard    []mark // what its own clock said when it heard of an edit
}

// A mark is a moment at which a policy was replaced, by some clock.
type mark struct {
	version        int64 // of the policy that came
	at             time.Time
	idle, absolute time.Duration // of the one that went
}

// A life is a login.
type life struct {
	token   flakepass.Token
	user    idworker.ID
	issued  time.Time
	gone    string // why nobody may ever let it in
	ended   []end
	refused [2]refusedAt
}

// An end is what an edit found over: unless it is used later, it stays so.
type end struct {
	version int64
	seen    time.Time
}

type refusedAt struct{ now, seen time.Time }

func newLives(t *testing.T, rt *rapid.T, w *world, other *gormstore.DB) *lives {
	l := &lives{ctx: byShell(t), w: w, db: start}
	for _, statement := range []string{
		"DELETE FROM users", "DELETE FROM audit_events", "DELETE FROM policies WHERE version > 1",
		"UPDATE settings SET version = 1, idle_timeout_ms = 1209600000, absolute_lifetime_ms = 2592000000, touch_interval_ms = 60000, " +
			"idle_base = 0, absolute_base = 0, global_floor = 0",
	} {
		if _, err := w.SQL().ExecContext(l.ctx, statement); err != nil {
			rt.Fatal(err)
		}
	}
	for i := range crowd {
		err := w.users.Create(l.ctx, account.User{
			ID: idworker.ID(i + 1), Username: fmt.Sprint("user", i), Role: account.RoleUser,
			PasswordHash: account.NewPHC("$first"), PasswordVersion: 1, CreatedAt: start, UpdatedAt: start,
		})
		if err != nil {
			rt.Fatal(err)
		}
	}
	for i, db := range []*gormstore.DB{w.DB, other} {
		n := &node{store: db, now: start}
		l.nodes[i] = n
		db.SetNow(l.db)
		var err error
		if n.rule, err = policy.NewLive(l.ctx, &gormstore.Settings{DB: db}); err != nil {
			rt.Fatal(err)
		}
		n.rule.Now = func() time.Time { return n.now }
		kept := &gormstore.Sessions{DB: db}
		n.service = &session.Service{Store: kept, Truth: kept, Book: kept, IDs: clockIDs{l, n}, Policy: n.rule, Now: n.rule.Now}
		n.policies = &admin.Policies{
			Store: &gormstore.Settings{DB: db}, IDs: eventIDs{l}, Now: n.rule.Now, Schedule: func(string) error { return nil },
		}
	}
	return l
}

// clockIDs mints by an instance's clock.
type clockIDs struct {
	l *lives
	n *node
}

func (m clockIDs) NextAfter(_ context.Context, above idworker.ID) (idworker.ID, error) {
	m.l.serial++
	return max(above, idworker.Default().Smallest(m.n.now)) + m.l.serial, nil
}

type eventIDs struct{ l *lives }

func (m eventIDs) Next(context.Context) (idworker.ID, error) { m.l.serial++; return m.l.serial, nil }

func (l *lives) pick(rt *rapid.T) int { return rapid.IntRange(0, 1).Draw(rt, "instance") }

func (l *lives) login(rt *rapid.T) {
	n, user := l.nodes[l.pick(rt)], idworker.ID(rapid.IntRange(1, crowd).Draw(rt, "user"))
	opened, err := n.service.Open(l.ctx, user, 1)
	if err != nil {
		rt.Fatal(err)
	}
	for _, old := range l.logins {
		if old.user == user && old.gone == "" {
			old.gone = "replaced"
		}
	}
	l.logins = append(l.logins, &life{token: opened.Token, user: user, issued: idworker.Default().Time(opened.Token.ID())})
}

// wait lets time pass for all alike.
func (l *lives) wait(rt *rapid.T) {
	d := time.Duration(rapid.OneOf(rapid.IntRange(1, 600), rapid.IntRange(1, 20*24*3600)).Draw(rt, "seconds")) * time.Second
	l.nodes[0].now, l.nodes[1].now = l.nodes[0].now.Add(d), l.nodes[1].now.Add(d)
	l.setDB(l.db.Add(d))
}

// step sets one clock, forward or back.
func (l *lives) step(rt *rapid.T) {
	d := time.Duration(rapid.OneOf(rapid.IntRange(-600, 600), rapid.IntRange(-10*24*3600, 10*24*3600)).Draw(rt, "seconds")) * time.Second
	if which := rapid.IntRange(0, 2).Draw(rt, "clock"); which < 2 {
		l.nodes[which].now = l.nodes[which].now.Add(d)
	} else {
		l.setDB(l.db.Add(d))
	}
}

func (l *lives) setDB(at time.Time) {
	l.db = at
	for _, n := range l.nodes {
		n.store.SetNow(at)
	}
}

func (l *lives) edit(rt *rapid.T) {
	const day = 24 * 3600
	seconds := rapid.OneOf(rapid.IntRange(300, 2*day), rapid.IntRange(300, 400*day), rapid.SampledFrom([]int{300, 14 * day, 30 * day, 400 * day}))
	idle, absolute := seconds.Draw(rt, "idle"), seconds.Draw(rt, "absolute")
	next := policy.Policy{
		Idle: time.Duration(min(idle, absolute)) * time.Second, Absolute: time.Duration(absolute) * time.Second,
		Touch: time.Duration(rapid.IntRange(1, 120).Draw(rt, "touch")) * time.Second, Schedule: "@every 1m",
	}
	l.change(rt, func(n *node, c admin.PolicyChange) error {
		c.Next = next
		_, _, err := n.policies.Set(l.ctx, c)
		return err
	})
}

func (l *lives) revert(rt *rapid.T) {
	l.change(rt, func(n *node, c admin.PolicyChange) error {
		_, _, err := n.policies.Revert(l.ctx, rapid.Int64Range(1, c.Version).Draw(rt, "version"), c)
		return err
	})
}

// change is what both edits have in common: what is over by the policy that
// goes, by the database's clock, is over for good.
func (l *lives) change(rt *rapid.T, do func(*node, admin.PolicyChange) error) {
	i := l.pick(rt)
	n := l.nodes[i]
	was, err := n.policies.Current(l.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	m := mark{was.Version + 1, l.db, was.Idle, was.Absolute}
	rows := l.rows(rt)
	for _, login := range l.logins {
		seen, ok := rows[login.token.ID()]
		if !ok {
			continue
		}
		if over := !login.issued.After(l.db.Add(-was.Absolute)) || !seen.After(l.db.Add(-was.Idle)); over {
			login.ended = append(login.ended, end{m.version, seen})
		}
	}
	if err := do(n, admin.PolicyChange{Version: was.Version, Confirmed: true}); err != nil {
		rt.Fatal(err)
	}
	l.edits = append(l.edits, m)
	l.hear(rt, i) // as Policies.Changed does
}

// hear lets an instance read the policy, as each poll does.
func (l *lives) hear(rt *rapid.T, i int) {
	n := l.nodes[i]
	was := n.rule.Current()
	if err := n.rule.Refresh(l.ctx); err != nil {
		rt.Fatal(err)
	}
	if is := n.rule.Current(); is.Version > was.Version {
		n.heard = append(n.heard, mark{is.Version, n.now, was.Idle, was.Absolute})
	}
}

func (l *lives) sweep(rt *rapid.T) {
	i := l.pick(rt)
	n := l.nodes[i]
	before := l.rows(rt)
	rule := n.rule.Current()
	if _, err := (&world{DB: n.store}).sweep(l.ctx, rule.OldestIssued(n.now), rule.OldestSeen(n.now), 1000); err != nil {
		rt.Fatal(err)
	}
	after := l.rows(rt)
	for _, login := range l.logins {
		seen, held := before[login.token.ID()]
		_, still := after[login.token.ID()]
		if held && still == l.over(i, login, seen) {
			rt.Fatalf("%v, swept by instance %d: still there is %v", login, i, still)
		}
		if held && !still {
			login.gone = "swept"
		}
	}
}

// over says by what is known, and by nothing that the code has computed, whether
// a login is over for an instance.
func (l *lives) over(i int, login *life, seen time.Time) bool {
	n := l.nodes[i]
	rule := n.rule.Current()
	dead := func(at time.Time, idle, absolute time.Duration) bool {
		return !login.issued.After(at.Add(-absolute)) || !seen.After(at.Add(-idle))
	}
	over := dead(n.now, rule.Idle, rule.Absolute)
	for _, m := range l.edits {
		over = over || m.version <= rule.Version && dead(m.at, m.idle, m.absolute)
	}
	for _, m := range n.heard {
		over = over || dead(m.at, m.idle, m.absolute)
	}
	return over
}

// rows is when the logins that the rows hold were last used.
func (l *lives) rows(rt *rapid.T) map[idworker.ID]time.Time {
	var held []struct{ Token, Seen int64 }
	err := l.w.Gorm().WithContext(l.ctx).Raw("SELECT token_id AS token, token_seen_at AS seen FROM users WHERE token_id IS NOT NULL").Scan(&held).Error
	if err != nil {
		rt.Fatal(err)
	}
	rows := map[idworker.ID]time.Time{}
	for _, row := range held {
		rows[idworker.ID(row.Token)] = time.UnixMilli(row.Seen).UTC()
	}
	return rows
}

func (l *lives) ask(rt *rapid.T) {
	if len(l.logins) == 0 {
		rt.Skip("nobody has logged in")
	}
	l.verify(rt, l.pick(rt), l.logins[rapid.IntRange(0, len(l.logins)-1).Draw(rt, "login")], l.rows(rt))
}

// look asks about all that must never come back, which changes no row.
func (l *lives) look(rt *rapid.T) {
	rows := l.rows(rt)
	for i := range l.nodes {
		for _, login := range l.logins {
			if seen, ok := rows[login.token.ID()]; !ok || l.over(i, login, seen) {
				l.verify(rt, i, login, rows)
			}
		}
	}
}

// verify asks an instance about a login, and holds the answer to all promises.
func (l *lives) verify(rt *rapid.T, i int, login *life, rows map[idworker.ID]time.Time) {
	n := l.nodes[i]
	seen, held := rows[login.token.ID()]
	over := !held || l.over(i, login, seen)
	_, err := n.service.Verify(l.ctx, login.token)
	if _, refused := errors.AsType[*flakepass.Refusal](err); err != nil && !refused {
		rt.Fatal(err)
	}
	if (err != nil) != over {
		rt.Fatalf("%v, last used %v: instance %d at %v says %v; over is %v", login, seen, i, n.now, err, over)
	}
	if err != nil {
		login.refused[i] = refusedAt{n.now, seen}
		return
	}
	if login.gone != "" {
		rt.Fatalf("%v was %s, and instance %d lets it in", login, login.gone, i)
	}
	for _, e := range login.ended {
		if e.version <= n.rule.Current().Version && e.seen.Equal(seen) {
			rt.Fatalf("%v was over at the edit to version %d, and instance %d lets it in", login, e.version, i)
		}
	}
	if r := login.refused[i]; !r.now.IsZero() && r.seen.Equal(seen) && !n.now.Before(r.now) {
		rt.Fatalf("%v was refused by instance %d at %v, and is let in at %v", login, i, r.now, n.now)
	}
}

func (l *life) String() string {
	return fmt.Sprintf("login %d of user %d, issued %v", l.token.ID(), l.user, l.issued)
}
