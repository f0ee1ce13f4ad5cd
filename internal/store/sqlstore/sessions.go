package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
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

func (s *Sessions) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// Get reads the session from its user's row: the one the user has, or the one
// that the user had before.
func (s *Sessions) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	got, _, err := s.Read(ctx, id)
	return got, err
}

// Read is Get, and says what else was read in the same statement.
func (s *Sessions) Read(ctx context.Context, id idworker.ID) (session.Session, session.Basis, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return s.loginOf(s.DB.gorm.WithContext(ctx), id)
}

func (s *Sessions) loginOf(on *gorm.DB, id idworker.ID) (session.Session, session.Basis, error) {
	asOf := s.now()
	row, ended, err := s.DB.findLogin(on, id)
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
	row, err = db.find(on, "token_id = ?", id)
	if errors.Is(err, session.ErrNotFound) {
		row, err = db.find(on, "ended_token_id = ?", id)
		return row, true, err
	}
	return row, false, err
}

func (r *tokenRow) basis() session.Basis {
	return session.Basis{Version: r.PolicyVersion, Now: fromMillis(r.Now)}
}

// find reads one row, without a lock, with the global floor, the version of the
// policy and the clock. It fails if the server takes no writes: it may have been
// the primary once, and then even "there is no such row" is no answer.
func (db *DB) find(on *gorm.DB, where string, id idworker.ID) (tokenRow, error) {
	row, err := one(on, "SELECT "+tokenColumns+", s.global_floor, s.version AS policy_version, "+db.d.now+" AS now, "+
		db.d.readOnly+" AS read_only FROM settings s LEFT JOIN users ON "+where+" WHERE s.scope = 'global'", int64(id))
	switch {
	case errors.Is(err, session.ErrNotFound):
		return tokenRow{}, errNoSettings
	case err != nil:
		return tokenRow{}, err
	case row.ReadOnly:
		return tokenRow{}, ErrReadOnly
	case row.UserID == 0:
		return tokenRow{}, session.ErrNotFound
	}
	return row, nil
}

func (s *Sessions) find(ctx context.Context, where string, id idworker.ID) (tokenRow, error) {
	return s.DB.find(s.DB.gorm.WithContext(ctx), where, id)
}

func one(db *gorm.DB, query string, args ...any) (tokenRow, error) {
	var rows []tokenRow
	if err := db.Raw(query, args...).Scan(&rows).Error; err != nil {
		return tokenRow{}, err
	}
	if len(rows) == 0 {
		return tokenRow{}, session.ErrNotFound
	}
	return rows[0], nil
}

// Touch writes one time of last use, as [Sessions.TouchAll] does.
func (s *Sessions) Touch(ctx context.Context, id idworker.ID, seen time.Time) error {
	_, err := s.TouchAll(ctx, map[idworker.ID]time.Time{id: seen}, time.Millisecond)
	return err
}

// Publish does nothing: the end was committed here.
func (s *Sessions) Publish(context.Context, session.Session) error { return nil }

// Begin makes a session its user's only one. The row is locked before its IDs are
// looked at, and one that is not greater than all of them is refused: so the IDs of
// one user grow in the order of their logins, whichever instance and whichever clock
// they come from. Beside an [*session.IDError] it fails with [account.ErrNotFound],
// [account.ErrDisabled] or [account.ErrStale], and changes nothing then.
func (s *Sessions) Begin(ctx context.Context, o session.Opening) (session.Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var begun session.Begun
	var start time.Time
	err := s.DB.retry(ctx, func() error {
		start = time.Now()
		err := s.DB.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
			if begun, err = s.begin(tx, o); err == nil {
				err = s.recordBegun(tx, o, begun)
			}
			return err
		})
		if errors.Is(err, gorm.ErrDuplicatedKey) { // two workers have one number: another ID will do
			return &session.IDError{Above: o.ID}
		}
		return err
	})
	if err == nil {
		err = s.restamp(ctx, int64(o.UserID), start)
	}
	if err != nil {
		return session.Begun{}, fmt.Errorf("sqlstore: begin: %w", err)
	}
	return begun, nil
}

// recordBegun writes the event of a session that has begun, if there is to be one.
func (s *Sessions) recordBegun(tx *gorm.DB, o session.Opening, begun session.Begun) error {
	if o.Record == nil {
		return nil
	}
	e, err := o.Event(begun)
	if err != nil {
		return err
	}
	may, err := s.DB.authorize(tx, e.By, e.Need)
	if err != nil {
		return err
	}
	return may.record(e)
}

func (s *Sessions) begin(tx *gorm.DB, o session.Opening) (session.Begun, error) {
	asOf := s.now()
	row, err := one(tx, "SELECT "+tokenColumns+" FROM users WHERE id = ?"+s.DB.d.forRead, int64(o.UserID))
	switch {
	case errors.Is(err, session.ErrNotFound):
		return session.Begun{}, account.ErrNotFound
	case err != nil:
		return session.Begun{}, err
	case row.DisabledAt.Valid:
		return session.Begun{}, account.ErrDisabled
	case row.PasswordVersion != o.PasswordVersion:
		return session.Begun{}, account.ErrStale
	}
	// Read apart: a locking read could lock the settings for all logins.
	if err := tx.Raw(globalFloor).Scan(&row.GlobalFloor).Error; err != nil {
		return session.Begun{}, err
	}
	if last := row.highest(); o.ID <= last {
		return session.Begun{}, &session.IDError{Above: last}
	}
	seen := o.Seen
	if issued := layout.Time(o.ID); issued.After(seen) {
		seen = issued // no use is before the login was issued
	}
	var begun session.Begun
	stamp := ", " + s.DB.d.stampNow()
	if row.TokenID.Valid {
		stamp = "" // the end has it
		begun.Replaced = row.current(asOf)
		if begun.Replaced.Alive() {
			begun.Replaced.Ended = session.Replaced
		}
		// The old login ends before the new one begins, in the same transaction.
		if err := s.end(tx, row, begun.Replaced.Ended); err != nil {
			return session.Begun{}, err
		}
	}
	done := tx.Exec("UPDATE users SET token_id = ?, token_hash = ?, token_seen_at = ?, "+setDevice+", "+s.DB.d.provedNow()+stamp+" WHERE "+unmoved,
		append([]any{int64(o.ID), o.Hash[:], seen.UnixMilli()}, append(deviceArgs(o), int64(o.ID), row.UserID, 0)...)...)
	if done.Error != nil {
		return session.Begun{}, done.Error
	}
	if done.RowsAffected != 1 {
		return session.Begun{}, errMoved
	}
	// The index of living tokens knows no ID that has ended. Two users that had
	// the same one could not both log out.
	if _, err := one(tx, "SELECT "+tokenColumns+" FROM users WHERE ended_token_id = ?", int64(o.ID)); !errors.Is(err, session.ErrNotFound) {
		return session.Begun{}, cmp.Or(err, gorm.ErrDuplicatedKey)
	}
	begun.Session = row.session(int64(o.ID), o.Hash[:], asOf)
	begun.Session.Seen, begun.Session.Device = fromMillis(seen.UnixMilli()), o.Device
	return begun, nil
}

// setDevice writes the device of a login. It names the login: a release that does not
// know the columns leaves there what the user's last login on this release has said.
const setDevice = "device_token_id = ?, device_class = ?, device_name = ?"

func deviceArgs(o session.Opening) []any {
	if o.Device == nil {
		return []any{nil, nil, nil}
	}
	return []any{int64(o.ID), o.Device.Class, o.Device.Name}
}
