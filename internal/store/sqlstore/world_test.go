//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// kinds are the databases that every promise here is held on, migrated.
var kinds = []struct {
	name    string
	options func(testing.TB) sqlstore.Options
}{
	{"SQLite", func(t testing.TB) sqlstore.Options {
		t.Helper()
		return sqlstore.Options{Dialect: migrations.SQLite, Source: migrated.SQLite(t)}
	}},
	{"MySQL", func(t testing.TB) sqlstore.Options { t.Helper(); return onServer(t, migrated.MySQL(t)) }},
	{"MariaDB", func(t testing.TB) sqlstore.Options { t.Helper(); return onServer(t, migrated.MariaDB(t)) }},
}

func onServer(t testing.TB, dsn string) sqlstore.Options {
	t.Helper()
	source, err := sqlstore.MySQLSourceDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return sqlstore.Options{Dialect: migrations.MySQL, Source: source}
}

// kindOf is another database of the same kind.
func kindOf(t *testing.T) sqlstore.Options {
	t.Helper()
	for _, kind := range kinds {
		if strings.HasSuffix(t.Name(), "/"+kind.name) {
			return kind.options(t)
		}
	}
	t.Fatal("not below onEach")
	return sqlstore.Options{}
}

// A world is one database, migrated, with the users and logins of one test.
type world struct {
	*sqlstore.DB
	options  sqlstore.Options
	users    *sqlstore.Users
	sessions *sqlstore.Sessions
	ids      *minter
	serial   idworker.ID // of the logins whose time a test has set
}

// onEach holds the promise on every kind of database, at the same time: each has its
// own. It is the last thing that a test does, for it returns before they begin.
func onEach(t *testing.T, promise func(t *testing.T, w *world)) {
	t.Helper()
	onServers(t, promise)
	onSQLite(t, promise)
}

// onServers is onEach for what a file, with its one writer at a time, has not.
func onServers(t *testing.T, promise func(t *testing.T, w *world)) {
	t.Helper()
	for _, kind := range kinds[1:] {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			promise(t, newWorld(t, kind.options(t)))
		})
	}
}

func onSQLite(t *testing.T, promise func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(kinds[0].name, func(t *testing.T) {
		t.Parallel()
		promise(t, newWorld(t, kinds[0].options(t)))
	})
	// The same statements with the other table beside: what holds for one session a user
	// holds also after a policy allowed more.
	t.Run("after more sessions a user/SQLite", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, kinds[0].options(t))
		w.allow(t, 1, 2)
		promise(t, w)
	})
}

// allow sets how many sessions a user has, and how many further slots a policy has ever
// allowed.
func (w *world) allow(t testing.TB, sessions, slots int) {
	t.Helper()
	w.exec(t, "UPDATE settings SET max_sessions = ?, slots = ?", sessions, slots)
}

// newWorld migrates the database if it is not one of the kinds, but a server of
// the test's own.
func newWorld(t testing.TB, o sqlstore.Options) *world {
	t.Helper()
	w := &world{DB: open(t, o), options: o, ids: &minter{}}
	if _, err := migrations.Up(t.Context(), w.SQL(), w.Dialect(), nil); err != nil {
		t.Fatal(err)
	}
	w.users, w.sessions = &sqlstore.Users{DB: w.DB}, &sqlstore.Sessions{DB: w.DB}
	return w
}

func open(t testing.TB, o sqlstore.Options) *sqlstore.DB {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// user adds a user whose password has version 1.
func (w *world) user(t testing.TB, name string) idworker.ID {
	t.Helper()
	id := w.ids.next(0)
	err := w.users.Create(t.Context(), account.User{
		ID: id, Username: name, Role: account.RoleUser, PasswordHash: account.NewPHC("$first"), PasswordVersion: 1,
		CreatedAt: start, UpdatedAt: start,
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// shell is who acts in these tests, if nothing else is said: somebody who has the
// database anyway.
var shell = audit.Actor{Name: "root@host", Via: audit.ViaCLI}

// start is the time of what happens in a test, if nothing else is said.
var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// begin begins a login now, after a check of the password's first version.
func (w *world) begin(t testing.TB, user idworker.ID) session.Session {
	t.Helper()
	begun, err := w.login(t.Context(), w.opening(user))
	if err != nil {
		t.Fatal(err)
	}
	return begun.Session
}

func (w *world) opening(user idworker.ID) session.Opening {
	return session.Opening{UserID: user, PasswordVersion: 1, Seen: start}
}

// login begins a login, with another ID where one is refused, as the domain does.
func (w *world) login(ctx context.Context, o session.Opening) (session.Begun, error) {
	return w.loginBy(ctx, w.ids, o)
}

func (w *world) loginBy(ctx context.Context, ids *minter, o session.Opening) (session.Begun, error) {
	for above := idworker.ID(0); ; {
		o.ID = ids.next(above)
		o.Hash = hashOf(o.ID)
		begun, err := w.sessions.Begin(ctx, o)
		refused, ok := errors.AsType[*session.IDError](err)
		if !ok {
			return begun, err
		}
		above = refused.Above
	}
}

// beginAt begins a login that was issued and last seen then.
func (w *world) beginAt(t testing.TB, user idworker.ID, issued, seen time.Time) session.Session {
	t.Helper()
	o := w.opening(user)
	o.Seen = seen
	w.serial++
	o.ID = idworker.Default().Smallest(issued) + w.serial
	o.Hash = hashOf(o.ID)
	begun, err := w.sessions.Begin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return begun.Session
}

// hashOf is the hash of the token of that session, as far as these tests care.
func hashOf(id idworker.ID) session.Hash {
	h := session.Hash{1}
	copy(h[1:], id.String())
	return h
}

func logout(s session.Session) session.Ending {
	return session.Ending{ID: s.ID, Hash: s.Hash, Reason: session.LoggedOut}
}

// A minter makes IDs as a worker does whose clock is that far off.
type minter struct {
	skew time.Duration
	mu   sync.Mutex
	last idworker.ID
}

func (m *minter) next(above idworker.ID) idworker.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = max(m.last, above, idworker.Default().Smallest(time.Now().Add(m.skew))) + 1
	return m.last
}

// atOnce calls f from n goroutines that start together.
func atOnce(n int, f func(i int)) {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		all.Go(func() { <-gate; f(i) })
	}
	close(gate)
	all.Wait()
}

// endAny ends the session that e names, or all of its user, of whom it has one.
func (w *world) endAny(t testing.TB, e session.Ending) (session.Session, error) {
	t.Helper()
	if e.ID != 0 {
		return w.sessions.End(t.Context(), e)
	}
	ended, err := w.sessions.EndUser(t.Context(), e, 0)
	return sqlstore.One(ended), err
}
