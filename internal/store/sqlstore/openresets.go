package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// OpenResets is a page of the resets that can be used at that time, newest first: at
// most limit, older than before, or the newest if before is 0. issuer is the user
// that started them; 0 is any.
func (u *Users) OpenResets(ctx context.Context, issuer, before idworker.ID, limit int, now time.Time) ([]account.OpenReset, error) {
	// What is older than the longest life has expired, and need not be read. Twice as
	// long, for the instance that minted the ID has another clock.
	oldest := layout.Smallest(now.Add(-2 * account.MaxResetLife))
	where, args := "r.issue_id >= ? AND r.issue_id < ?", []any{int64(oldest), cmp.Or(int64(before), math.MaxInt64)}
	if issuer != 0 {
		where, args = "r.issued_by = ? AND "+where, append([]any{int64(issuer)}, args...)
	}
	var rows []struct {
		IssueID, UserID, IssuedBy, ExpiresAt int64
		Username, Issuer                     string
	}
	err := u.DB.query(ctx, &rows, "SELECT r.issue_id, r.user_id, u.username, r.issued_by, r.issuer, r.expires_at FROM "+resetTables+
		" WHERE "+where+" AND "+usable+" ORDER BY r.issue_id DESC LIMIT ?", append(args, now.UnixMilli(), limit)...)
	open := make([]account.OpenReset, len(rows))
	for i, r := range rows {
		open[i] = account.OpenReset{
			ID: idworker.ID(r.IssueID), UserID: idworker.ID(r.UserID), Username: r.Username,
			Issuer: account.Issuer{ID: idworker.ID(r.IssuedBy), Name: r.Issuer}, ExpiresAt: fromMillis(r.ExpiresAt),
		}
	}
	return open, failed("list resets", err)
}

// WithdrawReset removes the reset of a user and writes the event, if there is one
// that could be used at that time; otherwise it changes nothing.
func (u *Users) WithdrawReset(ctx context.Context, id idworker.ID, now time.Time, e audit.Event) error {
	err := u.DB.write(ctx, func(tx *gorm.DB) error {
		err := u.spendReset(tx, id, now, "TRUE")
		if errors.Is(err, account.ErrReset) || errors.Is(err, account.ErrNotFound) {
			return errAlready
		}
		return err
	}, e)
	return failed("withdraw reset", err)
}

// WithdrawResets removes those of the resets that are still there, and writes the
// event of each, with the same index, all in one transaction. It returns how many it
// removed.
func (u *Users) WithdrawResets(ctx context.Context, resets []account.OpenReset, events []audit.Event) (int, error) {
	removed := 0
	err := u.DB.transact(ctx, func(tx *gorm.DB) error {
		removed = 0
		may, err := u.DB.authorizeAll(tx, events)
		if err != nil {
			return err
		}
		for i, r := range resets {
			// By the ID too: another reset may have taken its place.
			done := tx.Exec("DELETE FROM password_resets WHERE user_id = ? AND issue_id = ?", int64(r.UserID), int64(r.ID))
			if done.Error != nil {
				return done.Error
			}
			if done.RowsAffected == 0 {
				continue
			}
			removed++
			if err := may.record(events[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return removed, failed("withdraw resets", err)
}
