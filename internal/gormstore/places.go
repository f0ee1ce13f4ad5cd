package gormstore

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/throttle"
)

// Places are where people have logged in before. Key hides the addresses.
type Places struct {
	DB  *DB
	Key []byte
}

var _ throttle.Known = (*Places)(nil)

const (
	placesKept = 20 // of each user
	placeLife  = 90 * 24 * 60 * 60 * 1000
	placeFresh = 24 * 60 * 60 * 1000 // noted again only if the note is older; both in milliseconds
)

// Knows reports whether the account of that name was logged in to from that
// place in the last 90 days, or whether the device has the token of its last
// login, or of the one before. Of a name that nobody has it asks the same.
func (p *Places) Knows(ctx context.Context, a throttle.Attempt) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	db := p.DB.gorm.WithContext(ctx)
	type account struct {
		ID             int64
		Username       string
		TokenHash      []byte
		EndedTokenHash []byte
	}
	var rows []account
	err := db.Raw("SELECT id, username, token_hash, ended_token_hash FROM users WHERE username = ?", a.Account).Scan(&rows).Error
	if err != nil {
		return false, fmt.Errorf("gormstore: known place: %w", err)
	}
	if len(rows) == 0 || rows[0].Username != a.Account { // MySQL disregards spaces at the end
		rows = append(rows[:0], account{}) // who has no ID was nowhere
	}
	row := &rows[0]
	if len(a.Device) > 0 &&
		subtle.ConstantTimeCompare(a.Device, row.TokenHash)|subtle.ConstantTimeCompare(a.Device, row.EndedTokenHash) == 1 {
		return true, nil
	}
	if !a.Address.IsValid() { // asked about the device only
		return false, nil
	}
	var found []int64
	err = db.Raw("SELECT seen_at FROM known_places WHERE user_id = ? AND place = ? AND seen_at > "+p.DB.d.now+" - ?",
		row.ID, p.hidden(row.ID, a.Address), placeLife).Scan(&found).Error
	if err != nil {
		return false, fmt.Errorf("gormstore: known place: %w", err)
	}
	return len(found) > 0, nil
}

// Remember notes that a user has logged in from there. It writes at most once a
// day for each place. A place is new that is none of the last 20 of a user who
// has some.
func (p *Places) Remember(ctx context.Context, user idworker.ID, from netip.Addr) (isNew bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	db := p.DB.gorm.WithContext(ctx)
	place := p.hidden(int64(user), from)
	var fresh []bool
	err = db.Raw("SELECT seen_at > "+p.DB.d.now+" - ? FROM known_places WHERE user_id = ? AND place = ?",
		placeFresh, int64(user), place).Scan(&fresh).Error
	switch {
	case err != nil:
	case len(fresh) == 0:
		var some []int64
		if err = db.Raw("SELECT seen_at FROM known_places WHERE user_id = ? LIMIT 1", int64(user)).Scan(&some).Error; err == nil {
			isNew, err = len(some) > 0, p.DB.inTurn(ctx, func() error { return p.add(db, int64(user), place) })
		}
	case !fresh[0]:
		err = p.DB.inTurn(ctx, func() error {
			return db.Exec("UPDATE known_places SET seen_at = "+p.DB.d.now+" WHERE user_id = ? AND place = ?", int64(user), place).Error
		})
	}
	if err != nil {
		return false, fmt.Errorf("gormstore: remember place: %w", err)
	}
	return isNew, nil
}

// add notes a new place, and forgets the oldest ones beyond those kept.
func (p *Places) add(db *gorm.DB, user int64, place []byte) error {
	err := db.Exec("INSERT INTO known_places (user_id, place, seen_at) VALUES (?, ?, "+p.DB.d.now+")", user, place).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return nil // another login from there, at the same time
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

// hidden is a place of one user: the same place of two users looks different,
// and whoever has a copy of the table only cannot tell where anybody was.
func (p *Places) hidden(user int64, from netip.Addr) []byte {
	mac := hmac.New(sha256.New, p.Key)
	mac.Write([]byte("place\x00"))
	_ = binary.Write(mac, binary.BigEndian, user) // a hash takes everything
	mac.Write([]byte(throttle.Place(from)))
	return mac.Sum(nil)[:16]
}
