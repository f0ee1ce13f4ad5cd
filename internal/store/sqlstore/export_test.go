package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// UserRow is what GORM may write of a user's row.
type UserRow = userRow

// SlowestChange is how long one change may take.
const SlowestChange = tau

// UsersPage is usersPage.
const UsersPage = usersPage

// InTurn is inTurn.
func (db *DB) InTurn(ctx context.Context, f func() error) error { return db.inTurn(ctx, f) }

// SQLiteSource is the DSN for a file.
func SQLiteSource(path string) string { return sqliteSource(path) }

// InsertOf is insertOf.
func InsertOf(e audit.Event) (insert string, args []any) { return insertOf(e) }

// LockedNow reports that a statement with ShareNow found a lock.
func LockedNow(err error) bool { return lockedNow(err) }

// ShareNow locks a row for reading, or fails at once.
func (db *DB) ShareNow() string { return db.d.shareNow }

// ForShare locks a row for reading.
func (db *DB) ForShare() string { return db.d.forShare }

// ForRead locks a row as a change does.
func (db *DB) ForRead() string { return db.d.forRead }

// Now is the clock of the database.
func (db *DB) Now() string { return db.d.now }

// LeaveServer lets no connection that there is be used once more, as an error does that
// says that the server decides no more.
func (db *DB) LeaveServer() { db.from.leave() }

// SetPolled sets when the last poll was.
func (s *Sessions) SetPolled(at time.Time) { s.poller.at = at }

// ReadOnly is 1 on a server that takes no writes.
func (db *DB) ReadOnly() string { return db.d.readOnly }

// Server is the name of the server.
func (db *DB) Server() string { return db.d.server }

// GlobalFloor reads the floor of all users.
const GlobalFloor = "SELECT global_floor, slots FROM settings WHERE scope = 'global'"

// Taken reports whether a change of this process has its turn.
func (db *DB) Taken() bool { return len(db.turn) > 0 }

// Gorm is what the statements go through.
func (db *DB) Gorm() *gorm.DB { return db.gorm }

// SetLate sets what a change may take before it is stamped anew.
func (db *DB) SetLate(d time.Duration) { db.late = d }

// SetExactly sets how many rows of an index are counted one by one.
func (db *DB) SetExactly(n int64) { db.exactly = n }

// SetHurry sets how long a count reads on for the sake of a smaller error.
func (db *DB) SetHurry(d time.Duration) { db.hurry = d }

// SetNow stops the clock by which this instance has the database stamp. It may be far from that of the machine.
func (db *DB) SetNow(at time.Time) {
	db.d.now = strconv.FormatInt(at.UnixMilli(), 10)
	db.ahead = math.MaxInt64
}

// SetAhead sets how far ahead of the machine that clock may be when a policy is set.
func (db *DB) SetAhead(d time.Duration) { db.ahead = d }

// Record writes e by a permit for by, who needs that.
func (db *DB) Record(by audit.Actor, need audit.Need, e audit.Event) error {
	return permit{db.gorm, by, need}.record(e)
}

// Disable is Change, as far as most tests care. Disabling twice keeps the first
// time.
func (u *Users) Disable(ctx context.Context, id idworker.ID, at time.Time) (session.Session, error) {
	_, _, ended, err := u.Change(ctx, id, func(user account.User) (account.User, []audit.Event, error) {
		if !user.Disabled() {
			user.DisabledAt = at
		}
		return user, nil, nil
	})
	return One(ended), err
}

// One is the session that has ended, if one has.
func One(ended []session.Session) session.Session {
	if len(ended) == 0 {
		return session.Session{}
	}
	return ended[0]
}

// Enable undoes Disable.
func (u *Users) Enable(ctx context.Context, id idworker.ID) error {
	_, _, _, err := u.Change(ctx, id, func(user account.User) (account.User, []audit.Event, error) {
		user.DisabledAt = time.Time{}
		return user, nil, nil
	})
	return err
}

// Unfit says why the promise cannot be kept on a server that has these variables.
func Unfit(variables map[string]string) error { return server(variables).unfit() }

// SessionOf are the settings of a session on a server that has these variables.
func SessionOf(variables map[string]string) []string { return server(variables).session() }

// SeveralOf reports whether such a server is one of several.
func SeveralOf(variables map[string]string) bool { return server(variables).several() }

// SetDecides says on which server the last poll was.
func (db *DB) SetDecides(server string) { db.from.decides.Store(&server) }

// Check is the statement that a check asks first.
func (db *DB) Check() string { return db.lookup(byToken).text }

// BareScan reads a row of Check.
func BareScan(rows *sql.Rows) error {
	var (
		n                                     [9]int64
		name, role                            string
		hash                                  []byte
		act, disabled, token, seen, ended     sql.NullInt64
		endedHash, key                        []byte
		device, auth, at                      sql.NullInt64
		reason, class, deviceName, authMethod sql.NullString
		readOnly                              bool
	)
	return rows.Scan(&n[0], &n[1], &n[2], &act, &name, &role, &n[3], &disabled, &token, &hash, &seen, &n[4], &n[5], &ended, &endedHash, &reason,
		&device, &class, &deviceName, &key, &auth, &authMethod, &at, &n[6], &n[7], &n[8], new(int64), &readOnly)
}

// Prepared is the prepared statement of a check; nil before the first check.
func (db *DB) Prepared() *sql.Stmt { return db.lookup(byToken).prepared.Load() }

// QueryLookup asks a lookup of a pool several times, until that fails.
func QueryLookup(ctx context.Context, pool *sql.DB, log *slog.Logger, times int) (err error) {
	l := &lookup{text: "SELECT 1", asText: sayOnce(log)}
	for range times {
		rows, asked := l.query(ctx, pool, nil)
		if asked != nil {
			return asked
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	return err
}

// CheckUnprepared asks what a check asks, through GORM.
func (db *DB) CheckUnprepared(ctx context.Context, id idworker.ID) error {
	return db.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		_, _, err := db.findLogin(tx, id)
		return err
	})
}
