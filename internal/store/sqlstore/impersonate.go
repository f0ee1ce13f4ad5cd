package sqlstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// An impersonation is in the last slot of its user: see [session.SlotOfAct]. Its row says
// that it was never used, so that each count of sessions that were used lately, each sample
// and each estimate passes it by, and that a release which does not know it refuses it.
const neverUsed = 0

// readyForActs notes that there may be further slots, so that whoever looks for a session
// looks there, too. It fails with a [*policy.OlderInstanceError].
func (s *Sessions) readyForActs(ctx context.Context, o *session.Opening) error {
	if o.Record == nil || o.Record.By.ID != o.Act {
		return errUnstated
	}
	if err := (&Settings{DB: s.DB}).older(ctx, knowsActs); err != nil || s.DB.further.Load() {
		return err
	}
	if err := s.DB.exec(ctx, "UPDATE settings SET slots = "+s.DB.d.max+"(slots, 1) WHERE scope = 'global'"); err != nil {
		return err
	}
	_, err := s.DB.floor(s.DB.gorm.WithContext(ctx), "")
	return err
}

// holdActor keeps others from beginning an impersonation of the same admin until the transaction
// ends: the check of the right would let both count before either writes. It comes before that
// check, which shares the row: two that share it cannot lock it for each other. The settings
// come first here, too, as in DB.actor.
func (s *Sessions) holdActor(tx *gorm.DB, admin idworker.ID) error {
	if _, err := s.DB.floor(tx, s.DB.d.forShare); err != nil {
		return err
	}
	return s.DB.holdUser(tx, admin)
}

// fewActs checks that the admin of an impersonation has not too many. No other of that admin
// begins meanwhile: see holdActor.
func (s *Sessions) fewActs(tx *gorm.DB, o *session.Opening) error {
	over, err := s.DB.floor(tx, "")
	if err != nil {
		return err
	}
	one := session.Session{Act: o.Act, Role: string(account.RoleUser)}
	issued := one.Expiry(o.Record.Policy).OldestIssued(o.Record.Now)
	over = max(over, int64(sweep.MarksOf(issued, time.Time{}, 0).Issued))
	var n int
	err = tx.Raw("SELECT COUNT(*) FROM user_slots WHERE act_id = ? AND token_seen_at = 0 AND user_id <> ? AND token_id + 0 > ?"+s.DB.d.forRead,
		int64(o.Act), int64(o.UserID), over).Scan(&n).Error
	if err == nil && n >= session.MostActs {
		err = session.ErrManyActs
	}
	return err
}

// actOf is the impersonation in rows, alone, if there is one; or whatever an earlier
// release has put in its slot.
func actOf(rows []tokenRow, asOf time.Time) []session.Session {
	row := inSlot(rows, session.SlotOfAct)
	if row == nil || !row.TokenID.Valid {
		return nil
	}
	return []session.Session{row.current(asOf)}
}

// putAct is put for an impersonation.
func (s *Sessions) putAct(tx *gorm.DB, o session.Opening, rows []tokenRow, slot session.Slot, _ time.Time) error {
	if err := s.DB.lockUser(tx, o.UserID); err != nil {
		return err
	}
	row := inSlot(rows, slot)
	if row == nil {
		return tx.Exec("INSERT INTO user_slots (id, user_id, slot, act_id, token_id, token_hash, token_seen_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			int64(o.ID), int64(o.UserID), int64(slot), int64(o.Act), int64(o.ID), o.Hash[:], neverUsed).Error
	}
	stamp := ", " + s.DB.d.stampNow()
	if row.TokenID.Valid {
		stamp = "" // the end has it
	}
	return found(tx.Exec("UPDATE user_slots SET act_id = ?, token_id = ?, token_hash = ?, token_seen_at = ?"+stamp+" WHERE "+unmoved,
		int64(o.Act), int64(o.ID), o.Hash[:], neverUsed, row.RowID, 0), errMoved)
}

// endActs ends the impersonations of a user who may have been an admin, and returns them as they
// are then. The transaction has changed or locked the row of that user: no other begins
// meanwhile, because each needs the right of its admin in its own transaction. Those that
// endedActs would return are stamped anew and are in again: the act that ended them may have been
// committed so late that the feeds have passed its stamp.
func (s *Sessions) endActs(tx *gorm.DB, admin int64, asOf time.Time) (ended, again []session.Session, err error) {
	rows, err := s.actsOf(tx, admin, s.DB.d.forRead)
	if err != nil {
		return nil, nil, err
	}
	ended, err = s.endSlots(tx, rows, session.Ending{Reason: session.Revoked}, 0, asOf)
	for i := range ended {
		ended[i].Ended = session.Revoked
	}
	if err != nil {
		return nil, nil, err
	}
	return ended, revokedActs(rows, asOf), s.stamp(tx, rows)
}

// actsOf are the rows of the impersonations of a user that live, and of those that ended so lately
// that an instance may still believe in them: older ones are over by their age.
func (s *Sessions) actsOf(on *gorm.DB, admin int64, lock string) (rows []tokenRow, err error) {
	if !s.DB.further.Load() {
		return nil, nil
	}
	since := layout.Smallest(s.now().Add(-2 * session.ActLife))
	err = on.Raw("SELECT "+slotColumns+" FROM user_slots WHERE act_id = ? AND (token_seen_at = 0 OR token_id IS NULL AND ended_token_id + 0 > ?) ORDER BY id"+lock, admin, int64(since)).Scan(&rows).Error
	return rows, err
}

// endedActs are the impersonations of a user that ended lately with the right of that user.
func (s *Sessions) endedActs(on *gorm.DB, admin int64, asOf time.Time) ([]session.Session, error) {
	rows, err := s.actsOf(on, admin, "")
	return revokedActs(rows, asOf), err
}

func revokedActs(rows []tokenRow, asOf time.Time) (ended []session.Session) {
	for i := range rows {
		if was := rows[i].ended(asOf); !rows[i].TokenID.Valid && was.Ended == session.Revoked {
			was.Before = true
			ended = append(ended, was)
		}
	}
	return ended
}

// restampAll is restamp for a user, and for those for whom the user acted.
func (s *Sessions) restampAll(ctx context.Context, user idworker.ID, ended []session.Session, start time.Time) error {
	users := map[idworker.ID]bool{user: true}
	for i := range ended {
		users[ended[i].UserID] = true
	}
	for id := range users {
		if err := s.restamp(ctx, int64(id), start); err != nil {
			return err
		}
	}
	return nil
}

// stillInOneSlot fails if there may be further slots since the row of a user was read as
// if there were none. The settings stay as they are until the commit.
func (s *Sessions) stillInOneSlot(tx *gorm.DB) error {
	var slots []int
	err := tx.Raw("SELECT slots FROM settings WHERE scope = 'global'" + s.DB.d.forShare).Scan(&slots).Error
	if err == nil && len(slots) == 1 && slots[0] > 0 {
		err = errMoved
	}
	return err
}
