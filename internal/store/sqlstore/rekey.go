package sqlstore

import (
	"context"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

var _ secondfactor.Vault = (*SecondFactors)(nil)

// Secrets are those of up to limit users after one, confirmed or not, in the order
// of their IDs. It may read all users, and takes as long as that takes.
func (s *SecondFactors) Secrets(ctx context.Context, after idworker.ID, limit int) ([]secondfactor.SealedSecret, error) {
	var all []secondfactor.SealedSecret
	err := s.DB.gorm.WithContext(ctx).Raw("SELECT id AS user, second_factor_secret AS text FROM users WHERE id > ? AND second_factor_secret IS NOT NULL ORDER BY id LIMIT ?",
		int64(after), limit).Scan(&all).Error
	return all, failed("read secrets of second factors", err)
}

// Reseal replaces secrets by the same ones under another key, each by a statement
// that compares, all in one transaction with their event. It returns how many were
// replaced: one that was changed meanwhile is not.
func (s *SecondFactors) Reseal(ctx context.Context, rows []secondfactor.Reseal, e func(changed int) audit.Event) (int, error) {
	changed := 0
	err := s.DB.transact(ctx, func(tx *gorm.DB) error {
		changed = 0
		event := e(0)
		may, err := s.DB.authorize(tx, event.By, event.Need)
		if err != nil {
			return err
		}
		for _, r := range rows {
			done := tx.Exec("UPDATE users SET second_factor_secret = ? WHERE id = ? AND second_factor_secret = ?", r.Next, int64(r.User), r.Had)
			if done.Error != nil {
				return done.Error
			}
			changed += int(done.RowsAffected)
		}
		if changed == 0 {
			return nil
		}
		return may.record(e(changed))
	})
	if err != nil {
		return 0, fmt.Errorf("sqlstore: write secrets of second factors: %w", err)
	}
	return changed, nil
}

// Uses counts secrets by the bytes that they begin with. It reads all users.
func (s *SecondFactors) Uses(ctx context.Context) (map[[5]byte]int, error) {
	var rows []struct {
		Begin   string
		Secrets int
	}
	err := s.DB.gorm.WithContext(ctx).Raw("SELECT HEX(SUBSTR(second_factor_secret, 1, 5)) AS begin, COUNT(*) AS secrets " +
		"FROM users WHERE second_factor_secret IS NOT NULL GROUP BY 1").Scan(&rows).Error
	uses := make(map[[5]byte]int, len(rows))
	for _, r := range rows {
		var begin [5]byte
		if b, err := hex.DecodeString(r.Begin); err == nil && len(b) == len(begin) {
			begin = [5]byte(b)
		}
		uses[begin] += r.Secrets
	}
	return uses, failed("count secrets of second factors", err)
}
