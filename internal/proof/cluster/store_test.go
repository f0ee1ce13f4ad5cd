//go:build unix

package cluster_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/cluster"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// A store is what an instance has of the rows, over one node.
type store struct {
	*sqlstore.DB
	sessions *sqlstore.Sessions
	users    *sqlstore.Users
	settings *sqlstore.Settings
}

func openStore(t *testing.T, n *cluster.Node) *store {
	t.Helper()
	s, err := tryStore(t, n)
	must(t, err)
	return s
}

func tryStore(t *testing.T, n *cluster.Node) (*store, error) {
	t.Helper()
	source, err := sqlstore.MySQLSource("mysql://root@" + n.Addr + "/" + cluster.Schema)
	must(t, err)
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: migrations.MySQL, Source: source})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = db.Close() })
	return &store{
		db, &sqlstore.Sessions{DB: db, Instance: "on " + n.Name}, &sqlstore.Users{DB: db}, &sqlstore.Settings{DB: db},
	}, nil
}

// stores are two instances, each on a node of its own, over an empty schema.
func stores(t *testing.T, n ...*cluster.Node) (list []*store) {
	t.Helper()
	for i, node := range n {
		s := openStore(t, node)
		if i == 0 {
			_, err := migrations.Up(t.Context(), s.SQL(), s.Dialect(), nil)
			must(t, err)
			for _, table := range []string{"users", "audit_events", "polls"} {
				run(t, s.SQL(), "DELETE FROM "+table)
			}
		}
		list = append(list, s)
	}
	return list
}

var shell = audit.Actor{Name: "root@host", Via: audit.ViaCLI}

func (s *store) user(t *testing.T, id idworker.ID, role account.Role) {
	t.Helper()
	must(t, s.users.Create(t.Context(), account.User{
		ID: id, Username: "user" + id.String(), Role: role, PasswordHash: account.NewPHC("$first"), PasswordVersion: 1,
	}))
}

// begin begins a session of a user, whose ID is that of the time.
func (s *store) begin(t *testing.T, user idworker.ID) session.Session {
	t.Helper()
	now, err := s.Clock(t.Context())
	must(t, err)
	id := idworker.Default().Smallest(now) + user
	begun, err := s.sessions.Begin(t.Context(), session.Opening{
		UserID: user, PasswordVersion: 1, Seen: now, ID: id, Hash: session.Hash{1, byte(user)},
	})
	must(t, err)
	return begun.Session
}

func (s *store) logout(t *testing.T, of session.Session) {
	t.Helper()
	_, err := s.sessions.End(t.Context(), session.Ending{ID: of.ID, Hash: of.Hash, Reason: session.LoggedOut})
	must(t, err)
}

// poll polls once, within d.
func (s *store) poll(t *testing.T, f *feed.Feed, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return f.Poll(ctx)
}

// A heard is a feed, and what it has brought.
type heard struct {
	*feed.Feed
	from  *sqlstore.Sessions
	mu    sync.Mutex
	ends  map[idworker.ID]bool
	lost  bool // a poll has said that commits may be lost
	short bool // the last poll asked for less than an instance asks for at its start
}

// News asks the rows of the node that the instance is on.
func (h *heard) News(ctx context.Context, since time.Time, keep time.Duration) (session.News, error) {
	h.short = !since.IsZero()
	return h.from.News(ctx, since, keep)
}

func (s *store) feed(t *testing.T) *heard {
	t.Helper()
	h := &heard{ends: map[idworker.ID]bool{}}
	h.from = s.sessions
	f, err := feed.New(feed.Options{From: h, Bound: 5 * time.Second, Lost: func() { h.lost = true }, Learn: func(news session.News) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, e := range news.Ends {
			h.ends[e.UserID] = true
		}
	}})
	must(t, err)
	h.Feed = f
	return h
}

// storeLate: a node that is late decides nothing. It neither accepts a session that has
// ended on another node, nor refuses one that has begun there, and no poll of it counts.
func (g *galera) storeLate(t *testing.T) {
	both := stores(t, g.Nodes[0], g.Nodes[1])
	here, late := both[0], both[1]
	here.user(t, 1, account.RoleUser)
	here.user(t, 2, account.RoleUser)
	old := here.begin(t, 1)
	f := late.feed(t)
	must(t, late.poll(t, f.Feed, soon))
	horizon := f.Horizon()

	release := g.hold(t, g.Nodes[0], g.Nodes[1])
	here.logout(t, old)
	made := here.begin(t, 2)
	for name, id := range map[string]idworker.ID{"ended elsewhere": old.ID, "begun elsewhere": made.ID} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if got, err := late.sessions.Get(ctx, id, session.Hash{}); err == nil || errors.Is(err, session.ErrNotFound) {
			t.Errorf("a session that has %s: a late node decides: alive %v, %v", name, got.Alive(), err)
		}
		cancel()
	}
	if err := late.poll(t, f.Feed, 300*time.Millisecond); err == nil || f.Horizon() != horizon {
		t.Errorf("a poll of a late node counts: %v", err)
	}
	release()
	must(t, late.poll(t, f.Feed, soon))
	if !f.ends[1] {
		t.Error("the poll after it has not brought the end")
	}
	if got, err := late.sessions.Get(t.Context(), old.ID, session.Hash{}); err != nil || got.Alive() {
		t.Errorf("the ended session, when the node has caught up: alive %v, %v", got.Alive(), err)
	}
}

// storeClocks: an end is stamped on a node whose clock is ten seconds behind or ahead,
// and reaches an instance on another node with its next poll.
func (g *galera) storeClocks(t *testing.T) {
	both := stores(t, g.Nodes[0], g.Nodes[1])
	here, other := both[0], both[1]
	for i, off := range []time.Duration{-10 * time.Second, 10 * time.Second} {
		user := idworker.ID(i + 1)
		here.user(t, user, account.RoleUser)
		one := here.begin(t, user)
		f := here.feed(t)
		must(t, g.SetClock(within(t), g.Nodes[1], off))
		eventually(t, "a poll asks for the newest ends only", func() bool { must(t, here.poll(t, f.Feed, soon)); return f.short })
		other.logout(t, one)
		must(t, here.poll(t, f.Feed, soon))
		if !f.ends[user] {
			t.Errorf("a clock that is off by %v hides an end", off)
		}
		must(t, g.SetClock(within(t), g.Nodes[1], 0))
	}
}

// storeLastAdmin: two admins demote each other on two nodes at the same moment, or each
// gives up the role. One admin is left.
func (g *galera) storeLastAdmin(t *testing.T) {
	both := stores(t, g.Nodes[0], g.Nodes[1])
	for round := range 20 {
		run(t, both[0].SQL(), "DELETE FROM users")
		var acts [2]func() error
		for i := range both {
			me, other := idworker.ID(i+1), idworker.ID(2-i)
			both[0].user(t, me, account.RoleAdmin)
			by := audit.Actor{ID: me, Session: both[0].begin(t, me).ID, Via: audit.ViaAPI}
			acts[i] = func() error { return both[i].demote(t.Context(), other, by, round) }
			if round%2 == 0 {
				acts[i] = func() error { return both[i].demote(t.Context(), me, shell, round) }
			}
		}
		var all sync.WaitGroup
		for _, act := range acts {
			all.Go(func() { _ = act() })
		}
		all.Wait()
		if has, err := both[0].users.HasAdmin(t.Context()); err != nil || !has {
			t.Fatalf("round %d: no admin is left: %v", round, err)
		}
	}
}

// demote makes an admin a user. The events of a test are numbered.
func (s *store) demote(ctx context.Context, id idworker.ID, by audit.Actor, number int) error {
	_, _, _, err := s.users.Change(ctx, id, func(u account.User) (account.User, []audit.Event, error) {
		u.Role = account.RoleUser
		e := audit.Event{
			By: by, Need: audit.NeedsAdmin, ID: idworker.ID(1000*number) + 10*id + by.ID, Action: audit.RoleChanged,
			Target: audit.Target{Kind: "user", ID: u.ID},
		}
		return u, []audit.Event{e}, nil
	})
	return err
}

// storeActor: an act is in its transaction on a node that is late, when the login by
// which it is done ends on another node. It changes nothing after that is acknowledged.
func (g *galera) storeActor(t *testing.T) {
	both := stores(t, g.Nodes[0], g.Nodes[1])
	here, late := both[0], both[1]
	for id := range idworker.ID(3) {
		here.user(t, id+1, account.RoleAdmin)
	}
	login := here.begin(t, 1)
	held := transaction(t, late)
	run(t, held, "SELECT 1 FROM users WHERE id = 2 FOR UPDATE")
	done := make(chan error, 1)
	go func() {
		done <- late.demote(context.WithoutCancel(t.Context()), 2, audit.Actor{ID: 1, Session: login.ID, Via: audit.ViaAPI}, 1)
	}()
	eventually(t, "the act waits for the row", func() bool {
		select {
		case err := <-done:
			t.Fatalf("the act waits for nothing: %v", err)
		default:
		}
		n, err := g.Nodes[1].Text(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'UPDATE users SET role%'")
		return err == nil && n == "1"
	})
	release := g.hold(t, g.Nodes[0], g.Nodes[1])
	here.logout(t, login)
	must(t, held.Rollback())
	err := <-done
	release()
	var role string
	must(t, here.SQL().QueryRowContext(t.Context(), "SELECT role FROM users WHERE id = 2").Scan(&role))
	if err == nil || role != string(account.RoleAdmin) {
		t.Errorf("the other admin is a %s now, by a login that had ended: %v", role, err)
	}
}

// transaction is a transaction on the node of a store.
func transaction(t *testing.T, s *store) *sql.Tx {
	t.Helper()
	tx, err := s.SQL().BeginTx(t.Context(), nil)
	must(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// storeMinority: a primary that has lost the others answers questions, and no poll of it
// counts.
func (g *group) storeMinority(t *testing.T) {
	primary := g.primary(t)
	s := stores(t, primary)[0]
	f := s.feed(t)
	must(t, s.poll(t, f.Feed, soon))
	horizon := f.Horizon()
	var others []*cluster.Node
	for _, n := range g.Nodes {
		if n != primary {
			others = append(others, n)
			must(t, n.Pause())
		}
	}
	if err := s.poll(t, f.Feed, 300*time.Millisecond); err == nil || f.Horizon() != horizon {
		t.Errorf("a poll of a primary without a majority counts: %v", err)
	}
	for _, n := range others {
		must(t, n.Resume())
	}
	must(t, g.Await(within(t), 3))
	must(t, openStore(t, g.primary(t)).poll(t, f.Feed, soon))
}

// storeStoodStill: a primary stands still, another takes its place, and a login ends there.
// When the old one goes on, no list that is asked of it shows the login.
func (g *group) storeStoodStill(t *testing.T) {
	old := g.primary(t)
	s := stores(t, old)[0]
	s.user(t, 1, account.RoleUser)
	one := s.begin(t, 1)
	lists := sqlstore.Logins{Sessions: s.sessions}
	shows := func() (alive bool, err error) {
		_, asList := lists.Newest(t.Context(), 0, 1<<62, 10)
		got, err := lists.Get(t.Context(), one.ID)
		_, there, asUser := s.users.WithLogins(t.Context(), 1)
		return err == nil && got.Alive() || asUser == nil && len(there) != 0, errors.Join(asList, err, asUser)
	}
	if alive, err := shows(); !alive || err != nil {
		t.Fatalf("before: alive %v, %v", alive, err)
	}
	must(t, old.Pause())
	var next *store
	eventually(t, "another is primary", func() bool {
		for _, n := range g.Nodes {
			if n == old {
				continue
			}
			p, err := g.Primary(t.Context(), n)
			if err != nil || p == old {
				continue
			}
			if next, err = tryStore(t, p); err == nil && next.Writable(t.Context()) == nil {
				return true
			}
		}
		return false
	})
	next.logout(t, one)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			if alive, err := shows(); alive {
				t.Errorf("listed as living after its end was acknowledged; %v", err)
				return
			}
		}
	}()
	must(t, old.Resume())
	<-done
	must(t, g.Await(within(t), 3))
}

// storeUnfit: an instance is refused by a group with several primaries, and leaves a group
// that is switched to that while it runs.
func (g *group) storeUnfit(t *testing.T) {
	primary := g.primary(t)
	s := stores(t, primary)[0]
	f := s.feed(t)
	must(t, s.poll(t, f.Feed, soon))
	must(t, primary.Exec(within(t), "SELECT group_replication_switch_to_multi_primary_mode()"))
	eventually(t, "the server says that it is one of several primaries", func() bool {
		mode, err := primary.Text(t.Context(), "SELECT @@global.group_replication_single_primary_mode")
		return err == nil && mode == "0"
	})
	_, started := tryStore(t, primary)
	for what, err := range map[string]error{"start": started, "poll": s.poll(t, f.Feed, soon), "request": s.Ping(t.Context())} {
		if _, ok := errors.AsType[*sqlstore.UnfitError](err); !ok {
			t.Errorf("%s on a group with several primaries: %v", what, err)
		}
	}
	id, err := primary.Text(t.Context(), "SELECT @@global.server_uuid")
	must(t, err)
	must(t, primary.Exec(within(t), "SELECT group_replication_switch_to_single_primary_mode('"+id+"')"))
	eventually(t, "the instance works again, with no restart", func() bool { return s.poll(t, f.Feed, soon) == nil })
}

// storeLost: the source is killed before the replica has a logout, and the replica takes
// its place. The next poll says that commits may be lost, and what the instance remembers
// is ended again.
func (p *pair) storeLost(t *testing.T) {
	s := stores(t, p.Source)[0]
	s.user(t, 1, account.RoleUser)
	one := s.begin(t, 1)
	f := s.feed(t)
	must(t, s.poll(t, f.Feed, soon))
	must(t, p.CatchUp(within(t)))
	p.Link.Cut(faultproxy.Both)
	s.logout(t, one)
	must(t, s.poll(t, f.Feed, soon))
	if f.lost {
		t.Error("nothing is lost yet")
	}
	must(t, p.Source.Kill())
	must(t, p.Promote(within(t)))

	next := openStore(t, p.Replica)
	if got, err := next.sessions.Get(t.Context(), one.ID, session.Hash{}); err != nil || !got.Alive() {
		t.Fatalf("the new server has the logout: alive %v, %v", got.Alive(), err)
	}
	f.from = next.sessions
	must(t, next.poll(t, f.Feed, soon))
	if !f.lost {
		t.Error("the poll does not say that commits may be lost")
	}
	lost, err := next.sessions.EndAgain(t.Context(), []session.End{{UserID: 1, Floor: one.ID, Reason: session.LoggedOut}}, 0, audit.Event{
		ID: 1, By: audit.Actor{Name: "flakepass", Via: audit.ViaServer}, Need: audit.NeedsNothing, Action: audit.CommitsLost, Target: audit.Target{Kind: "database"},
	})
	if err != nil || lost.Ends != 1 {
		t.Errorf("ended again: %+v, %v", lost, err)
	}
	if got, err := next.sessions.Get(t.Context(), one.ID, session.Hash{}); err != nil || got.Ended != session.LoggedOut {
		t.Errorf("the session after that: %q, %v", got.Ended, err)
	}
}
