package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/session"
)

// A resetRow is a started reset. It is of one version of the password: whatever
// raises that ends the reset, without having to know of it.
type resetRow struct {
	UserID          int64 `gorm:"primaryKey;autoIncrement:false"`
	TokenHash       []byte
	PasswordVersion int64
	ExpiresAt       int64
}

func (resetRow) TableName() string { return "password_resets" }

// StartReset keeps a reset of the password that the user has now, in the place
// of one that was started before, and writes the event in the same transaction.
// It fails with [account.ErrNotFound].
func (u *Users) StartReset(ctx context.Context, r account.Reset, e audit.Event) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err := u.DB.retry(ctx, func() error {
		return u.DB.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			may, err := u.DB.authorize(tx, e.By, e.Need)
			if err != nil {
				return err
			}
			// The user's row before that of the reset, as whoever uses it locks them.
			var versions []int64
			err = tx.Raw("SELECT password_version FROM users WHERE id = ?"+u.DB.d.forRead, int64(r.UserID)).Scan(&versions).Error
			if err == nil && len(versions) == 0 {
				err = account.ErrNotFound
			}
			if err == nil {
				err = keepReset(tx, r, versions[0])
			}
			if err == nil {
				err = may.record(e)
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("gormstore: start reset: %w", err)
	}
	return nil
}

func keepReset(tx *gorm.DB, r account.Reset, version int64) error {
	row := resetRow{int64(r.UserID), r.Hash[:], version, r.ExpiresAt.UnixMilli()}
	return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}}, UpdateAll: true}).Create(&row).Error
}

// CreateInvited adds a user together with a reset by which the first password is
// set, and their events, or returns [account.ErrExists] if the name is taken.
func (u *Users) CreateInvited(ctx context.Context, user account.User, r account.Reset, events ...audit.Event) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err := u.DB.retryIf(ctx, deadlocked, func() error {
		return u.DB.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			may, err := u.DB.authorizeAll(tx, events)
			if err != nil {
				return err
			}
			if err := u.create(tx, user); err != nil {
				return err
			}
			if err := keepReset(tx, r, user.PasswordVersion); err != nil {
				return err
			}
			for _, e := range events {
				if err := may.record(e); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil && !errors.Is(err, account.ErrExists) {
		return fmt.Errorf("gormstore: invite user: %w", err)
	}
	return err
}

// WithdrawReset removes the reset of a user and writes the event, if there is one
// that could be used at that time; otherwise it changes nothing.
func (u *Users) WithdrawReset(ctx context.Context, id idworker.ID, now time.Time, e audit.Event) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err := u.DB.retry(ctx, func() error {
		return u.DB.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			may, err := u.DB.authorize(tx, e.By, e.Need)
			if err != nil {
				return err
			}
			done := tx.Exec("DELETE FROM password_resets WHERE user_id = ? AND expires_at > ? AND "+
				"password_version = (SELECT password_version FROM users WHERE id = ?)", int64(id), now.UnixMilli(), int64(id))
			if done.Error != nil || done.RowsAffected == 0 {
				return done.Error
			}
			return may.record(e)
		})
	})
	if err != nil {
		return fmt.Errorf("gormstore: withdraw reset: %w", err)
	}
	return nil
}

// ByReset finds the user whose reset has that hash and can be used at that time,
// or [account.ErrReset].
func (u *Users) ByReset(ctx context.Context, hash account.ResetHash, now time.Time) (account.User, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var rows []userRow
	err := u.DB.gorm.WithContext(ctx).Raw("SELECT u.* FROM password_resets AS r JOIN users AS u "+
		"ON u.id = r.user_id AND u.password_version = r.password_version WHERE r.token_hash = ? AND r.expires_at > ?",
		hash[:], now.UnixMilli()).Scan(&rows).Error
	if err != nil {
		return account.User{}, fmt.Errorf("gormstore: find reset: %w", err)
	}
	if len(rows) == 0 {
		return account.User{}, account.ErrReset
	}
	return rows[0].user(), nil
}

// UseReset sets the hash of a new password, ends the user's login, spends the
// reset and writes the event, all or nothing. It fails with [account.ErrReset]
// unless the reset can be used at that time and the password is still of that
// version, which it is for one of those who use it at the same time; and with
// [account.ErrDisabled], which leaves the reset as it is.
func (u *Users) UseReset(ctx context.Context, r account.Reset, version int64, hash account.PHC, now time.Time, e audit.Event) (session.Session, error) {
	ended, err := u.DB.change(ctx, r.UserID, func(row tokenRow) (accountChange, error) {
		switch {
		case row.PasswordVersion != version:
			return accountChange{}, account.ErrReset
		case row.DisabledAt.Valid:
			return accountChange{}, account.ErrDisabled
		}
		return accountChange{
			set: "password_hash = ?, password_version = password_version + 1", args: []any{hash.Reveal()},
			reason: session.PasswordChanged, events: []audit.Event{e},
			also: func(tx *gorm.DB) error {
				done := tx.Exec("DELETE FROM password_resets WHERE user_id = ? AND token_hash = ? AND password_version = ? AND expires_at > ?",
					int64(r.UserID), r.Hash[:], version, now.UnixMilli())
				if done.Error == nil && done.RowsAffected != 1 {
					return account.ErrReset
				}
				return done.Error
			},
		}, nil
	})
	if err != nil {
		return session.Session{}, fmt.Errorf("gormstore: use reset: %w", err)
	}
	return ended, nil
}
