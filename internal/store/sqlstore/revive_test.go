//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// TestNothingThatIsOverReturns runs two instances on one database, whose own
// clocks are set forward and back, through random edits of the policy, sweeps,
// logins and uses. At every question it holds that
//
//   - what lives by its row and the policy in force is let in by everybody;
//   - what was swept, or replaced, is refused for ever;
//   - what is over by the policy in force is refused by whoever knows of it, and
//     whatever is edited later, it stays so;
//   - the clock of an instance decides nothing: that of the database does.
//
// Half of the edits have overrides, by device class and by role, which may be shorter or
// longer than the policy, and go again with another edit.
//
// A login that an instance still lets in because it has not heard of an edit does
// not count as used: the row refuses the use.
func TestNothingThatIsOverReturns(t *testing.T) {
	rounds := 3 // what is over is arithmetic, which all databases do alike: the others get one
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("14") // give the flag for more
		t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) })
	} else {
		rounds = 1
	}
	onEach(t, func(t *testing.T, w *world) {
		other := open(t, w.options)
		n := 1
		if w.Dialect() == migrations.SQLite {
			n = rounds
		}
		for range n {
			rapid.Check(t, func(rt *rapid.T) {
				l := newLives(t, rt, w, other)
				rt.Repeat(map[string]func(*rapid.T){
					"":       l.look,
					"login":  l.login,
					"act":    l.act,
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
		}
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
}

// A node is an instance.
type node struct {
	store    *sqlstore.DB
	rule     *policy.Live
	service  *session.Service
	policies *operator.Policies
	sweeper  *sweep.Sweeper
	now      time.Time
}

// A life is a login.
type life struct {
	token  flakepass.Token
	user   idworker.ID
	issued time.Time
	scope  policy.Scope
	gone   string // why nobody may ever let it in
	over   bool   // once by the policy in force
	act    bool   // an impersonation: it lasts for an hour at most, and is never used
}

func newLives(t *testing.T, rt *rapid.T, w *world, other *sqlstore.DB) *lives {
	l := &lives{ctx: t.Context(), w: w, db: start}
	for _, statement := range []string{
		"DELETE FROM users", "DELETE FROM user_slots", "DELETE FROM audit_events", "DELETE FROM sweeps", "DELETE FROM sweep_state", "DELETE FROM policies WHERE version > 1",
		"UPDATE settings SET version = 1, idle_timeout_ms = 1209600000, absolute_lifetime_ms = 2592000000, touch_interval_ms = 60000, " +
			"idle_base = 0, absolute_base = 0, global_floor = 0, terms = NULL",
	} {
		if _, err := w.SQL().ExecContext(l.ctx, statement); err != nil {
			rt.Fatal(err)
		}
	}
	for i := range crowd {
		err := w.users.Create(l.ctx, account.User{
			ID: idworker.ID(i + 1), Username: fmt.Sprint("user", i), Role: roleOf(idworker.ID(i + 1)),
			PasswordHash: account.NewPHC("$first"), PasswordVersion: 1, CreatedAt: start, UpdatedAt: start,
		})
		if err != nil {
			rt.Fatal(err)
		}
	}
	for i, db := range []*sqlstore.DB{w.DB, other} {
		n := &node{store: db, now: start}
		l.nodes[i] = n
		db.SetNow(l.db)
		var err error
		if n.rule, err = policy.NewLive(l.ctx, &sqlstore.Settings{DB: db}); err != nil {
			rt.Fatal(err)
		}
		kept := &sqlstore.Sessions{DB: db}
		n.service = &session.Service{Store: kept, Rows: kept, Writer: kept, IDs: clockIDs{l, n}, Policy: n.rule, Known: heard{l}}
		n.policies = &operator.Policies{
			Store: &sqlstore.Settings{DB: db}, IDs: eventIDs{l}, Now: func() time.Time { return n.now }, Schedule: func(string) error { return nil },
		}
		passes := &sqlstore.Sweeps{DB: db}
		n.sweeper = &sweep.Sweeper{
			Store: passes, Runs: passes, Policy: n.rule, IDs: eventIDs{l}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return n.now },
		}
	}
	return l
}

// heard is what an instance has heard of the database: its clock, and nothing
// that is over for good.
type heard struct{ l *lives }

func (heard) Global() idworker.ID                   { return 0 }
func (heard) Watermark() time.Time                  { return time.Time{} }
func (h heard) ClockAt(time.Time) (time.Time, bool) { return h.l.db, true }

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

func (m eventIDs) NextN(ctx context.Context, dst []idworker.ID) (int, error) {
	for i := range dst {
		dst[i], _ = m.Next(ctx)
	}
	return len(dst), nil
}

// roleOf is the role of a user.
func roleOf(id idworker.ID) account.Role {
	return []account.Role{account.RoleUser, account.RoleUser, account.RoleService, account.RoleAdmin}[id%4]
}

func (l *lives) pick(rt *rapid.T) int { return rapid.IntRange(0, 1).Draw(rt, "instance") }

func (l *lives) login(rt *rapid.T) {
	n, user := l.nodes[l.pick(rt)], idworker.ID(rapid.IntRange(1, crowd).Draw(rt, "user"))
	class := rapid.SampledFrom([]string{"", "phone", "tv"}).Draw(rt, "class")
	opened, err := n.service.Open(l.ctx, audit.Actor{}, user, 1, session.DeviceOf(class, ""), session.Place{})
	if err != nil {
		rt.Fatal(err)
	}
	l.begun(rt, opened, user, class, false)
}

// act begins an impersonation.
func (l *lives) act(rt *rapid.T) {
	n, user := l.nodes[l.pick(rt)], rapid.SampledFrom([]idworker.ID{1, 4, 5}).Draw(rt, "user") // of the role user
	opened, err := n.service.Impersonate(l.ctx, session.Act{User: user, By: audit.Actor{ID: 3, Name: "user2", Via: audit.ViaAPI}, Need: audit.NeedsNothing, Reason: "ticket"})
	if err != nil {
		rt.Fatal(err)
	}
	l.begun(rt, opened, user, "", true)
}

func (l *lives) begun(rt *rapid.T, opened session.Opened, user idworker.ID, class string, act bool) {
	for _, old := range l.logins {
		if old.user == user && old.act == act && old.gone == "" {
			old.gone = "replaced"
		}
	}
	begun := &life{token: opened.Token, user: user, issued: opened.Token.ID().Time(), scope: policy.Scope{Class: class, Role: string(roleOf(user))}, act: act}
	// By a clock that is far behind, it was issued before the last edit.
	begun.over = !begun.issued.After(l.base(rt, begun.scope))
	l.logins = append(l.logins, begun)
}

// base is the time at and before which every such login that was issued is over.
func (l *lives) base(rt *rapid.T, of policy.Scope) time.Time {
	p, err := l.nodes[0].policies.Current(l.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	return p.For(of.Class, of.Role).AbsoluteBase
}

// wait lets time pass for all alike.
func (l *lives) wait(rt *rapid.T) {
	d := time.Duration(rapid.OneOf(rapid.IntRange(1, 600), rapid.IntRange(1, 20*24*3600)).Draw(rt, "seconds")) * time.Second
	l.nodes[0].now, l.nodes[1].now = l.nodes[0].now.Add(d), l.nodes[1].now.Add(d)
	l.setDB(l.db.Add(d))
}

// step sets the clock of an instance forward or back, or that of the database
// forward. What it has said once would come back if that one were set back.
func (l *lives) step(rt *rapid.T) {
	d := time.Duration(rapid.OneOf(rapid.IntRange(-600, 600), rapid.IntRange(-10*24*3600, 10*24*3600)).Draw(rt, "seconds")) * time.Second
	if which := rapid.IntRange(0, 2).Draw(rt, "clock"); which < 2 {
		l.nodes[which].now = l.nodes[which].now.Add(d)
	} else {
		l.setDB(l.db.Add(d.Abs()))
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
	for _, of := range []policy.Scope{{Class: "phone"}, {Class: "tv"}, {Role: "admin"}, {Role: "user"}} {
		if !rapid.Bool().Draw(rt, "one") || !rapid.Bool().Draw(rt, "and one more") {
			continue
		}
		o := policy.Override{Scope: of, Absolute: time.Duration(seconds.Draw(rt, "absolute of one")) * time.Second}
		if rapid.Bool().Draw(rt, "idle") {
			o.Idle, o.Absolute = min(time.Duration(seconds.Draw(rt, "idle of one"))*time.Second, o.Absolute), rapid.SampledFrom([]time.Duration{0, o.Absolute}).Draw(rt, "both")
		}
		next.Overrides = append(next.Overrides, o)
	}
	l.change(rt, func(n *node, c operator.PolicyChange) error {
		c.Next = next
		_, _, err := n.policies.Set(l.ctx, shell, c)
		return err
	})
}

func (l *lives) revert(rt *rapid.T) {
	l.change(rt, func(n *node, c operator.PolicyChange) error {
		_, _, err := n.policies.Revert(l.ctx, shell, rapid.Int64Range(1, c.Version).Draw(rt, "version"), c)
		return err
	})
}

// change is what both edits have in common.
func (l *lives) change(rt *rapid.T, do func(*node, operator.PolicyChange) error) {
	i := l.pick(rt)
	n := l.nodes[i]
	was, err := n.policies.Current(l.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	l.settle(rt) // what is over by the policy that goes is over for good
	if err := do(n, operator.PolicyChange{Version: was.Version, Confirmed: true}); err != nil {
		rt.Fatal(err)
	}
	l.hear(rt, i) // as Policies.Changed does
}

// hear lets an instance read the policy, as each poll does.
func (l *lives) hear(rt *rapid.T, i int) {
	if err := l.nodes[i].rule.Refresh(l.ctx); err != nil {
		rt.Fatal(err)
	}
}

// settle notes what is over now by the policy in force, and by nothing that the
// code has computed: the timeouts, the clock of the database and the rows.
func (l *lives) settle(rt *rapid.T) map[idworker.ID]time.Time {
	var p struct{ Idle, Absolute int64 }
	err := l.w.Gorm().WithContext(l.ctx).Raw("SELECT idle_timeout_ms AS idle, absolute_lifetime_ms AS absolute FROM settings").Scan(&p).Error
	if err != nil {
		rt.Fatal(err)
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	in, err := l.nodes[0].policies.Current(l.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	rows := l.rows(rt)
	for _, login := range l.logins {
		seen, held := rows[session.IDOf(login.token)]
		idle, absolute := ms(p.Idle), ms(p.Absolute)
		for i, set := 0, [2]bool{}; i < len(in.Overrides); i++ { // the shortest of those that match
			o := in.Overrides[i]
			if (o.Scope.Class == "" || o.Scope.Class != login.scope.Class) && (o.Scope.Role == "" || o.Scope.Role != login.scope.Role) {
				continue
			}
			if o.Idle != 0 && (!set[0] || o.Idle < idle) {
				idle, set[0] = o.Idle, true
			}
			if o.Absolute != 0 && (!set[1] || o.Absolute < absolute) {
				absolute, set[1] = o.Absolute, true
			}
		}
		if login.act {
			absolute = min(absolute, session.ActLife)
			idle = absolute
		}
		if held && (!login.issued.After(l.db.Add(-absolute)) || !seen.After(l.db.Add(-idle))) {
			login.over = true
		}
	}
	return rows
}

func (l *lives) sweep(rt *rapid.T) {
	n := l.nodes[l.pick(rt)]
	before := l.settle(rt)
	if r, err := n.sweeper.Once(l.ctx, shell); err != nil || r.Outcome != sweep.Done && l.knows(rt, n) {
		rt.Fatalf("a sweep: %+v, %v", r, err)
	}
	after := l.rows(rt)
	for _, login := range l.logins {
		_, held := before[session.IDOf(login.token)]
		_, still := after[session.IDOf(login.token)]
		switch {
		case !held || still:
			if held && login.over && l.knows(rt, n) && !n.now.Before(l.db) {
				rt.Fatalf("%v is over, and a sweep leaves it", login)
			}
		case !login.over:
			rt.Fatalf("%v, last used %v, lives at %v, and a sweep clears it", login, before[session.IDOf(login.token)], l.db)
		default:
			login.gone = "swept"
		}
	}
}

// knows reports whether an instance has heard of the last edit.
func (l *lives) knows(rt *rapid.T, n *node) bool {
	p, err := n.policies.Current(l.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	return n.rule.Current().Version == p.Version
}

// rows is when the logins that the rows hold were last used.
func (l *lives) rows(rt *rapid.T) map[idworker.ID]time.Time {
	var held []struct{ Token, Seen int64 }
	err := l.w.Gorm().WithContext(l.ctx).Raw("SELECT token_id AS token, token_seen_at AS seen FROM users WHERE token_id IS NOT NULL " +
		"UNION ALL SELECT token_id, token_seen_at FROM user_slots WHERE token_id IS NOT NULL").Scan(&held).Error
	if err != nil {
		rt.Fatal(err)
	}
	rows := map[idworker.ID]time.Time{}
	for _, row := range held {
		rows[idworker.ID(row.Token)] = time.UnixMilli(row.Seen).UTC()
		if row.Seen == 0 { // that of an impersonation, which is never used
			rows[idworker.ID(row.Token)] = idworker.Default().Time(idworker.ID(row.Token))
		}
	}
	return rows
}

func (l *lives) ask(rt *rapid.T) {
	if len(l.logins) == 0 {
		rt.Skip("nobody has logged in")
	}
	rows := l.settle(rt)
	l.verify(rt, l.pick(rt), l.logins[rapid.IntRange(0, len(l.logins)-1).Draw(rt, "login")], rows)
}

// look asks about all that must never come back, which changes no row.
func (l *lives) look(rt *rapid.T) {
	rows := l.settle(rt)
	for i := range l.nodes {
		for _, login := range l.logins {
			if _, held := rows[session.IDOf(login.token)]; !held || login.over {
				l.verify(rt, i, login, rows)
			}
		}
	}
}

// verify asks an instance about a login, and holds the answer to all promises.
func (l *lives) verify(rt *rapid.T, i int, login *life, rows map[idworker.ID]time.Time) {
	n := l.nodes[i]
	seen, held := rows[session.IDOf(login.token)]
	_, err := n.service.Verify(l.ctx, login.token)
	if _, refused := errors.AsType[*flakepass.Refusal](err); err != nil && !refused {
		rt.Fatal(err)
	}
	over := !held || login.over
	switch {
	case err != nil && !over:
		rt.Fatalf("%v, last used %v, lives: instance %d, whose clock says %v while it is %v, says %v", login, seen, i, n.now, l.db, err)
	case err == nil && login.gone != "":
		rt.Fatalf("%v was %s, and instance %d lets it in", login, login.gone, i)
	case err == nil && over && l.knows(rt, n):
		rt.Fatalf("%v, last used %v, is over by the policy that instance %d knows at %v, and is let in", login, seen, i, l.db)
	case err == nil && over && !l.rows(rt)[session.IDOf(login.token)].Equal(seen):
		rt.Fatalf("%v is over, and a use of it is written", login)
	}
}

func (l *life) String() string {
	return fmt.Sprintf("login %d of user %d, issued %v", l.token.ID(), l.user, l.issued)
}
