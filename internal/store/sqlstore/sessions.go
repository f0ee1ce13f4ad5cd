package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Sessions are the logins on the users' rows: the last Store, and the Writer.
type Sessions struct {
	DB *DB
	// Now is the time that an answer is as of. nil means time.Now.
	Now func() time.Time
	// Instance is under which name polls write that they were done, at most 32
	// characters. With "" they write nothing, and prove nothing of their server: for
	// what does not keep answers.
	Instance string

	poller poller
}

var (
	_ session.Rows   = (*Sessions)(nil)
	_ session.Writer = (*Sessions)(nil)
)

// Get reads the session from the row of its slot: the one that is in the slot, or the last one
// that was.
func (s *Sessions) Get(ctx context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	got, _, err := s.Read(ctx, id)
	return got, err
}

// Read is Get, and says what else was read in the same statement.
func (s *Sessions) Read(ctx context.Context, id idworker.ID) (session.Session, session.Basis, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return s.loginOf(ctx, id, func(read func(on *gorm.DB) error) error { return read(s.DB.gorm.WithContext(ctx)) })
}

// loginOf reads a session. with calls read with a connection, and gives that back: none is held
// while sessions end that are too many, which takes one. As many readers as there are
// connections would wait for each other.
func (s *Sessions) loginOf(ctx context.Context, id idworker.ID, with func(read func(on *gorm.DB) error) error) (session.Session, session.Basis, error) {
	var (
		asOf  time.Time
		row   tokenRow
		ended bool
	)
	read := func(on *gorm.DB) (err error) {
		asOf = s.now()
		row, ended, err = s.DB.findLogin(on, id)
		return err
	}
	err := with(read)
	if err == nil && !ended && row.excess() {
		if _, err = s.reduce(ctx, idworker.ID(row.UserID)); err == nil {
			err = with(read)
		}
	}
	switch {
	case err != nil:
		return session.Session{}, session.Basis{}, fmt.Errorf("sqlstore: get: %w", s.DB.demoted(err))
	case ended:
		return row.ended(asOf), row.basis(), nil
	}
	return row.current(asOf), row.basis(), nil
}

// findLogin finds the row that has a login, or that had it last; then it has ended.
func (db *DB) findLogin(on *gorm.DB, id idworker.ID) (row tokenRow, ended bool, err error) {
	row, err = db.findToken(on, byToken, id)
	if errors.Is(err, session.ErrNotFound) {
		row, err = db.findToken(on, byEnded, id)
		return row, true, err
	}
	return row, false, err
}

func (r *tokenRow) basis() session.Basis {
	return session.Basis{Version: r.PolicyVersion, Now: fromMillis(r.Now)}
}

// findToken reads the row that has that ID in that column, as find does.
func (db *DB) findToken(on *gorm.DB, column int, id idworker.ID) (tokenRow, error) {
	query := db.lookup(column)
	row, err := db.found(query.rows(on, id))
	if errors.Is(err, session.ErrNotFound) && !query.further && db.further.Load() {
		return db.findToken(on, column, id) // there may be further slots
	}
	return row, err
}

// find reads the row of slot 0 of a user, without a lock, with the global floor, the
// version of the policy and the clock. It fails if the server takes no writes: it may have
// been the primary once, and then even "there is no such row" is no answer.
func (db *DB) find(on *gorm.DB, user idworker.ID) (tokenRow, error) {
	var rows []tokenRow
	err := on.Raw(db.beside(usersTable, accountColumns, "LEFT JOIN", "id = ?"), int64(user)).Scan(&rows).Error
	return db.found(rows, err)
}

// beside is the query for the rows of a table, each beside what holds for all, and also.
func (db *DB) beside(table, also, join, where string) string {
	return "SELECT " + columns(table) + ", s.global_floor, s.version AS policy_version, s.slots, " + db.d.now + " AS now, " +
		db.d.readOnly + " AS read_only" + also + " FROM settings s " + join + " " + table + " ON " + where + " WHERE s.scope = 'global'"
}

// heldBeside says how many sessions that user has, beside how many are allowed.
func heldBeside(user string) string {
	return ", s.max_sessions AS allowed, s.reduced_to, (SELECT COUNT(u.token_id) FROM users u WHERE u.id = " + user + ") + " +
		"(SELECT COUNT(f.token_id) FROM user_slots f WHERE f.user_id = " + user + " AND f.token_seen_at > 0) AS held"
}

// found is the one of the rows of a query that is of a user. The query has a row also if there
// is no user.
func (db *DB) found(rows []tokenRow, err error) (tokenRow, error) {
	switch {
	case err != nil:
		return tokenRow{}, err
	case len(rows) == 0:
		return tokenRow{}, errNoSettings
	case rows[0].ReadOnly:
		return tokenRow{}, ErrReadOnly
	}
	db.allows(rows[0].Slots)
	for i := range rows {
		if rows[i].UserID != 0 {
			return rows[i], nil
		}
	}
	return tokenRow{}, session.ErrNotFound
}

// Touch writes one time of last use, as [Sessions.TouchAll] does.
func (s *Sessions) Touch(ctx context.Context, id idworker.ID, seen time.Time) error {
	_, err := s.TouchAll(ctx, map[idworker.ID]time.Time{id: seen}, time.Millisecond)
	return err
}
