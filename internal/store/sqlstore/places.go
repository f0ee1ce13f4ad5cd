package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
)

// placesKept is how many places are kept of each user.
const placesKept = 20

// Remember notes that a user has logged in at a place, by the database's clock.
func (l *LoginRecords) Remember(ctx context.Context, user idworker.ID, place []byte) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err := l.DB.inTurn(ctx, func() error { return l.add(l.DB.gorm.WithContext(ctx), int64(user), place) })
	if err != nil {
		return fmt.Errorf("sqlstore: remember place: %w", err)
	}
	return nil
}

// add notes a place, and forgets the oldest ones beyond those kept.
func (l *LoginRecords) add(db *gorm.DB, user int64, place []byte) error {
	err := db.Exec("INSERT INTO known_places (user_id, place, seen_at) VALUES (?, ?, "+l.DB.d.now+")", user, place).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) { // it is old, or another login from there came first
		return db.Exec("UPDATE known_places SET seen_at = "+l.DB.d.now+" WHERE user_id = ? AND place = ?", user, place).Error
	}
	if err != nil {
		return err
	}
	var beyond []int64
	err = db.Raw("SELECT seen_at FROM known_places WHERE user_id = ? ORDER BY seen_at DESC LIMIT 1 OFFSET ?", user, placesKept).Scan(&beyond).Error
	if err != nil || len(beyond) == 0 {
		return err
	}
	return db.Exec("DELETE FROM known_places WHERE user_id = ? AND seen_at <= ?", user, beyond[0]).Error
}
