package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A lookup is the query for the row that has an ID in one column. It is what a check asks when
// no cache knows the token. So each connection prepares it once, and its answer is read without
// reflection: with SQLite, parsing it took five times as long as running it.
type lookup struct {
	text     string
	further  bool // it asks for further slots too
	prepared atomic.Pointer[sql.Stmt]
	asText   func(why error) // the text was sent, and answered
	file     *heldFile
}

// The columns of a lookup.
const (
	byToken = iota
	byEnded
)

// prepareLookups makes the texts of the lookups, for each column without and with further slots.
func (db *DB) prepareLookups(log *slog.Logger) {
	asText := sayOnce(log)
	for i, where := range [...]string{byToken: "token_id = ?", byEnded: "ended_token_id = ?"} {
		db.lookups[i][0].text = db.beside(usersTable, "", "LEFT JOIN", where)
		db.lookups[i][1].text = db.beside(usersTable, heldBeside("users.id"), "LEFT JOIN", where) + " UNION ALL " +
			db.beside(slotsTable, heldBeside("user_slots.user_id"), "JOIN", where)
		db.lookups[i][1].further = true
		db.lookups[i][0].asText, db.lookups[i][1].asText = asText, asText
		db.lookups[i][0].file, db.lookups[i][1].file = db.file, db.file
	}
}

// sayOnce tells an operator that checks cost more than they need to. It would be a line for each
// check otherwise.
func sayOnce(log *slog.Logger) func(error) {
	var once sync.Once
	return func(why error) {
		if log != nil {
			once.Do(func() { log.Warn("the database prepares no statement: checks send the text", "error", why) })
		}
	}
}

// lookup is the query for a column, as it is asked now.
func (db *DB) lookup(column int) *lookup {
	if db.further.Load() {
		return &db.lookups[column][1]
	}
	return &db.lookups[column][0]
}

// rows are what the query finds. In a transaction, or on a connection of its own, it is not
// prepared: that connection might never run it again.
func (l *lookup) rows(on *gorm.DB, id idworker.ID) (rows []tokenRow, err error) {
	args := []any{int64(id), int64(id)}
	if !l.further {
		args = args[:1]
	}
	pool, ok := on.Statement.ConnPool.(*sql.DB)
	if !ok {
		err = on.Raw(l.text, args...).Scan(&rows).Error
		return rows, err
	}
	ctx, start := on.Statement.Context, time.Now()
	if err := l.file.found(); err != nil {
		return nil, err
	}
	found, err := l.query(ctx, pool, args)
	if err == nil {
		rows, err = scanTokens(found, l.further)
	}
	on.Logger.Trace(ctx, start, nil, err)
	return rows, err
}

// query asks by the prepared statement. A server that has no room for one more, and a proxy that
// knows none, get the text.
func (l *lookup) query(ctx context.Context, pool *sql.DB, args []any) (*sql.Rows, error) {
	s := l.prepared.Load() //nolint:sqlclosecheck // it lives as long as the pool
	if s == nil {
		made, err := pool.PrepareContext(ctx, l.text)
		if means(err, unprepared) {
			return l.queryText(ctx, pool, args, err)
		}
		if err != nil {
			return nil, err
		}
		if s = made; !l.prepared.CompareAndSwap(nil, made) {
			_ = made.Close()      //nolint:sqlclosecheck // another check was first
			s = l.prepared.Load() //nolint:sqlclosecheck // as above
		}
	}
	found, err := s.QueryContext(ctx, args...)
	if means(err, unprepared) {
		return l.queryText(ctx, pool, args, err)
	}
	return found, err
}

// queryText asks by the text. A server that refuses that too has another reason than why it did
// not prepare.
func (l *lookup) queryText(ctx context.Context, pool *sql.DB, args []any, why error) (*sql.Rows, error) {
	found, err := pool.QueryContext(ctx, l.text, args...)
	if err == nil {
		l.asText(why)
	}
	return found, err
}

// scanTokens reads the rows of a lookup, whose columns stand in its text. Where no user was
// found, those of the user are NULL.
func scanTokens(found *sql.Rows, further bool) (rows []tokenRow, err error) {
	defer func() { err = errors.Join(err, found.Close()) }()
	var (
		r                                   tokenRow
		rowID, user, version, floor, stamp  sql.NullInt64
		slot, allowed, reduced, slots, held sql.NullInt64
		name, role                          sql.NullString
	)
	into := [...]any{
		&rowID, &slot, &user, &r.ActID, &name, &role, &version, &r.DisabledAt,
		&r.TokenID, &r.TokenHash, &r.TokenSeenAt, &floor, &stamp, &r.EndedTokenID, &r.EndedTokenHash, &r.EndedReason,
		&r.DeviceTokenID, &r.DeviceClass, &r.DeviceName, &r.DeviceKey, &r.AuthTokenID, &r.AuthMethod, &r.AuthTime,
		&r.GlobalFloor, &r.PolicyVersion, &slots, &r.Now, &r.ReadOnly,
		&allowed, &reduced, &held,
	}
	columns := into[:]
	if !further {
		columns = into[:len(into)-3]
	}
	for found.Next() {
		if err := found.Scan(columns...); err != nil {
			return nil, err
		}
		r.RowID, r.Slot, r.UserID, r.Username, r.Role = rowID.Int64, session.Slot(slot.Int64), user.Int64, name.String, role.String
		r.PasswordVersion, r.TokenFloor, r.TokenFloorAt = version.Int64, floor.Int64, stamp.Int64
		r.Allowed, r.ReducedTo, r.Slots, r.Held = int(allowed.Int64), int(reduced.Int64), int(slots.Int64), int(held.Int64)
		rows = append(rows, r)
	}
	return rows, found.Err()
}
