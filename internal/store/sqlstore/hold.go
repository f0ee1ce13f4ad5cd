package sqlstore

import (
	"errors"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// hold locks the row of a user, so that no login begins until the transaction ends, and
// returns it with the login that it has now. The rest is as it was decided about: if that has
// moved as well, the write finds it.
func (db *DB) hold(tx *gorm.DB, was tokenRow, decide func(tokenRow) (accountChange, error)) (tokenRow, error) {
	row, err := one(tx, "SELECT "+tokenColumns+", deleted_at, deletion_asked_at FROM users WHERE id = ?"+db.d.forRead, was.RowID)
	row.Slots, row.GlobalFloor = was.Slots, was.GlobalFloor
	row.PasswordVersion, row.Role, row.DisabledAt = was.PasswordVersion, was.Role, was.DisabledAt
	if err == nil {
		_, err = decide(row) // a login or another name may be a reason against the change
	}
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, errAlready) {
		err = errMoved
	}
	return row, err
}

// holdSettings locks the settings if an admin may be lost, or keeps them as they are for a
// write that reads them with the row of a user locked. They come before any row of a user: see
// [DB.actor].
func (db *DB) holdSettings(tx *gorm.DB, losesAdmin, reads bool) error {
	switch {
	case losesAdmin:
		return db.lockSettings(tx)
	case reads:
		_, err := db.floor(tx, db.d.forShare)
		return err
	}
	return nil
}
