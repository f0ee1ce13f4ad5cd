package sqlstore

import (
	"context"
	"fmt"
	"iter"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

var _ secondfactor.Vault = (*SecondFactors)(nil)

// usersPage is how many users one statement reads of all. One that looked on for what few users have could
// take longer than a connection waits for an answer.
const usersPage = 2000

// A userColumn is what one column has about a user; nil: nothing.
type userColumn struct {
	ID   idworker.ID
	Text []byte
}

// everyUser reads the ID and a column of all users after one, in the order of their IDs, a page at a time.
func (db *DB) everyUser(ctx context.Context, column string, after idworker.ID) iter.Seq2[userColumn, error] {
	return func(yield func(userColumn, error) bool) {
		for {
			var page []userColumn
			if err := db.query(ctx, &page, "SELECT id, "+column+" AS text FROM users WHERE id > ? ORDER BY id LIMIT ?", int64(after), usersPage); err != nil {
				yield(userColumn{}, err)
				return
			}
			for _, row := range page {
				if after = row.ID; !yield(row, nil) {
					return
				}
			}
			if len(page) < usersPage {
				return
			}
		}
	}
}

// Secrets are those of up to limit users after one, confirmed or not, in the order
// of their IDs. It may read all users, a page at a time.
func (s *SecondFactors) Secrets(ctx context.Context, after idworker.ID, limit int) ([]secondfactor.SealedSecret, error) {
	var all []secondfactor.SealedSecret
	for row, err := range s.DB.everyUser(ctx, "second_factor_secret", after) {
		if err != nil {
			return nil, failed("read secrets of second factors", err)
		}
		if row.Text == nil {
			continue
		}
		if all = append(all, secondfactor.SealedSecret{User: row.ID, Text: row.Text}); len(all) == limit {
			break
		}
	}
	return all, nil
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

// Uses counts secrets by the bytes that they begin with. It reads all users, a page at a time.
func (s *SecondFactors) Uses(ctx context.Context) (map[[5]byte]int, error) {
	uses := map[[5]byte]int{}
	for row, err := range s.DB.everyUser(ctx, "second_factor_secret", 0) {
		if err != nil {
			return nil, failed("count secrets of second factors", err)
		}
		if row.Text == nil {
			continue
		}
		var begin [5]byte
		if len(row.Text) >= len(begin) {
			begin = [5]byte(row.Text)
		}
		uses[begin]++
	}
	return uses, nil
}
