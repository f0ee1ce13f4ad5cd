package sqlstore

import (
	"errors"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// hold locks the row of a user, so that no login begins until the transaction ends, and
// returns it with the login that it has now, and what decide makes of it. The password, the role
// and the state are as they were decided about: if one of them has moved as well, the write finds it.
func (db *DB) hold(tx *gorm.DB, was tokenRow, decide func(tokenRow) (accountChange, error)) (tokenRow, accountChange, error) {
	row, err := one(tx, "SELECT "+tokenColumns+accountColumns+" FROM users WHERE id = ?"+db.d.forRead, was.RowID)
	row.Slots, row.GlobalFloor = was.Slots, was.GlobalFloor
	row.PasswordVersion, row.Role, row.DisabledAt = was.PasswordVersion, was.Role, was.DisabledAt
	var c accountChange
	if err == nil {
		c, err = decide(row) // a login or another name may be a reason against the change
	}
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, errAlready) {
		err = errMoved
	}
	return row, c, err
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
