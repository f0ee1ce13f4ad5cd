package sqlstore

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// provedNow says of the login that a statement writes or names that password and
// code were shown in it just now.
func (d *dialect) provedNow() string { return "token_proved_id = ?, token_proved_at = " + d.now }

// Prove notes that whoever e is by has shown the password of that version, and the
// second factor if there is one, in the login by which they act, and writes e in
// the same transaction. It returns [account.ErrStale] if the password is another
// by now, and the refusal of a login that is over.
func (s *Sessions) Prove(ctx context.Context, version int64, e audit.Event) error {
	err := s.DB.write(ctx, func(tx *gorm.DB) error {
		user, login := int64(e.By.ID), int64(e.By.Session)
		done := tx.Exec("UPDATE users SET "+s.DB.d.provedNow()+" WHERE "+unmoved+" AND password_version = ?", login, user, login, version)
		if done.Error == nil && done.RowsAffected != 1 {
			return account.ErrStale
		}
		return done.Error
	}, e)
	if err != nil {
		return fmt.Errorf("sqlstore: prove: %w", err)
	}
	return nil
}
