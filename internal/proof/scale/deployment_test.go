package scale

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// A deployment is a database of its own, with its crowd.
type deployment struct {
	*crowd
	*report
	// big is whether the server is this deployment's alone, and times matter.
	big bool

	root   *sql.DB // of the code that builds and counts
	name   string
	user   string // of the store, so that its statements are counted apart
	source string

	store    *sqlstore.DB
	users    *sqlstore.Users
	sessions *sqlstore.Sessions
	settings *sqlstore.Settings
	last     atomic.Int64 // ID that was minted
	visits   atomic.Int64 // logins while something else went on
}

// build makes a deployment of n people, those who are logged in with further slots, and
// checks that they are as they are meant to be: LOAD DATA turns errors into warnings.
func build(t testing.TB, n, further int, big bool, r *report) *deployment {
	t.Helper()
	c, err := mysql.ParseDSN(testenv.MySQL(t))
	must(t, err)
	d := &deployment{crowd: newCrowd(n, further), report: r, big: big, name: c.DBName, user: "scale_" + strings.ToLower(rand.Text()[:12])}
	connector, err := mysql.NewConnector(c)
	must(t, err)
	d.root = sql.OpenDB(connector)
	t.Cleanup(func() { _ = d.root.Close() })
	account := "'" + d.user + "'@'127.0.0.1'"
	execOn(t, d.root, "CREATE USER "+account)
	t.Cleanup(func() { _, _ = d.root.ExecContext(context.Background(), "DROP USER "+account) })
	execOn(t, d.root, "GRANT ALL PRIVILEGES ON "+d.name+".* TO "+account)
	c = c.Clone()
	c.User, c.Passwd = d.user, ""
	d.source, err = sqlstore.MySQLSourceDSN(c.FormatDSN())
	must(t, err)
	d.store = d.open(t)
	d.users, d.sessions, d.settings = &sqlstore.Users{DB: d.store}, &sqlstore.Sessions{DB: d.store}, &sqlstore.Settings{DB: d.store}
	_, err = migrations.Up(t.Context(), d.store.SQL(), d.store.Dialect(), nil)
	must(t, err)

	if further > 0 {
		execOn(t, d.root, "UPDATE settings SET max_sessions = ?, slots = ?, reduced_to = ?, version = version + 1 WHERE scope = 'global'", 1+further, further, 1+further)
	}
	if big {
		d.furnish(t)
		defer d.withoutRedo(t)()
	}
	rows, indexes, role := d.load(t)
	d.check(t)
	d.time("build: the rows", rows)
	d.time("build: the indexes but the one on role", indexes)
	d.time("migration 00006, the index on role", role)
	return d
}

// open is a store as one more instance has it.
func (d *deployment) open(t testing.TB) *sqlstore.DB {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: migrations.MySQL, Source: d.source})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// pool is the memory that MySQL has for pages.
const pool = 2 << 30

// furnish gives the server what a server of this size would have.
func (d *deployment) furnish(t testing.TB) {
	t.Helper()
	d.resize(t, pool)
	execOn(t, d.root, "SET GLOBAL innodb_redo_log_capacity = 2147483648")
}

// withoutRedo turns the redo log off until the function that it returns is called.
func (d *deployment) withoutRedo(t testing.TB) (on func()) {
	t.Helper()
	execOn(t, d.root, "ALTER INSTANCE DISABLE INNODB REDO_LOG")
	return func() { execOn(t, d.root, "ALTER INSTANCE ENABLE INNODB REDO_LOG") }
}

// resize sets the memory for pages. Making it small throws pages out.
func (d *deployment) resize(t testing.TB, size int64) {
	t.Helper()
	execOn(t, d.root, "SET GLOBAL innodb_buffer_pool_size = "+strconv.FormatInt(size, 10))
	testenv.Eventually(t, 5*time.Minute, func() bool {
		var name, status string
		must(t, d.root.QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Innodb_buffer_pool_resize_status'").Scan(&name, &status))
		return strings.HasPrefix(status, "Completed") || strings.HasPrefix(status, "Size did not change") || status == ""
	}, "the buffer pool has its size")
}

func (d *deployment) check(t testing.TB) {
	t.Helper()
	if alive, stale, out := d.alive(t), d.stale(t), d.count(t, "token_id IS NULL AND ended_reason = 'logged_out'"); alive != d.n/10*(7+6*d.further) ||
		stale != d.n/10 || out != d.n/10*3 {
		t.Fatalf("%d logins, %d of them stale, and %d have logged out; want %d, 1 and 3 of each ten of %d", alive, stale, out, 7+6*d.further, d.n)
	}
	if d.big {
		return // the same numbers, and a minute
	}
	// A sweep could not clear a login whose ID another login has ended with.
	if twice := d.count(t, "token_id IN (SELECT ended_token_id FROM users)"); twice != 0 {
		t.Fatalf("%d logins have the ID of one that ended", twice)
	}
}

// alive is how many rows have a login, stale how many have one that is over.
func (d *deployment) alive(t testing.TB) int { t.Helper(); return d.count(t, "token_id IS NOT NULL") }

func (d *deployment) stale(t testing.TB) int {
	t.Helper()
	issued, seen := d.marks()
	return d.count(t, "token_id IS NOT NULL AND (token_id <= ? OR token_seen_at <= ?)", issued, seen)
}

func (d *deployment) count(t testing.TB, where string, args ...any) (n int) {
	t.Helper()
	for _, of := range d.tables() {
		var here int
		must(t, d.root.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+of.table+" WHERE "+where, args...).Scan(&here))
		n += here
	}
	return n
}

// policy is the default one, with as many sessions a user as people here have.
func (d *deployment) policy() policy.Policy {
	p := policy.Default()
	p.MaxSessions = 1 + d.further
	return p
}

// mint makes an ID and a hash as a worker does.
func (d *deployment) mint(above idworker.ID) (idworker.ID, session.Hash) {
	for {
		last := d.last.Load()
		next := max(last, int64(above), int64(layout.Smallest(time.Now()))) + 1
		if d.last.CompareAndSwap(last, next) {
			return idworker.ID(next), hashOf(next)
		}
	}
}

// begin logs a user in.
func (d *deployment) begin(ctx context.Context, i int) error {
	for above := idworker.ID(0); ; {
		id, hash := d.mint(above)
		_, err := d.sessions.Begin(ctx, session.Opening{ID: id, Hash: hash, UserID: idworker.ID(d.at(i).id), PasswordVersion: 1, Seen: time.Now()})
		refused, ok := errors.AsType[*session.IDError](err)
		if !ok {
			return err
		}
		above = refused.Above
	}
}

// mysqld is the CPU time that the server has used, in steps of 10 ms.
func (d *deployment) mysqld(t testing.TB) time.Duration {
	t.Helper()
	var file string
	must(t, d.root.QueryRowContext(t.Context(), "SELECT @@pid_file").Scan(&file))
	pid, err := os.ReadFile(file)
	must(t, err)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", strings.TrimSpace(string(pid))))
	must(t, err)
	// "pid (name) state ...": utime and stime are the 14th and 15th field, in
	// USER_HZ, which is 100 on every Linux.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		must(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
