package sqlstore

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// notDeleted is the condition of whatever finds an account. The row of one that was deleted
// stays until the purge, and keeps its name and its external ID. The COALESCE hides the column
// from the planner, which could otherwise go by its index, where almost all are NULL.
// Conditions of GORM's Where repeat it, because they have to be literals.
const notDeleted = "COALESCE(deleted_at, 0) = 0"

// Delete marks a user as deleted, who has to have that name, ends the logins, and removes
// what could open one: the password, the second factor, one-time links and service keys.
// All of it and the event are one transaction. It returns the sessions that ended; those
// that an earlier call ended come again, with Before. It fails with [account.ErrNotFound],
// [account.ErrNotNamed], and with [account.ErrLastAdmin] if no enabled admin would be left.
//
// disabled_at is set as well, for a release that does not know of deletions. The version of
// the password is raised: a login, a link or a change that was decided before finds it stale.
func (u *Users) Delete(ctx context.Context, id idworker.ID, username string, e audit.Event) ([]session.Session, error) {
	return u.delete(ctx, id, func(row tokenRow) error {
		if row.Username != username {
			return account.ErrNotNamed
		}
		return nil
	}, e)
}

// DeleteAsked is Delete for a user who has asked for it before that time and has not logged
// in since, or fails with [account.ErrNotFound]; and with [audit.ErrRole] for an account that
// has become one of a service, which may not be able to log in.
//
// A login by a release that does not know of deletions cancels nothing: its ID tells, whatever
// the clocks say. After the user asked, no session was left, so such a login is in the first
// slot.
func (u *Users) DeleteAsked(ctx context.Context, id idworker.ID, before time.Time, e audit.Event) ([]session.Session, error) {
	return u.delete(ctx, id, func(row tokenRow) error {
		if !row.DeletionAskedAt.Valid || row.DeletionAskedAt.Int64 >= before.UnixMilli() || row.last() != row.DeletionAskedLogin {
			return account.ErrNotFound
		}
		if row.Role == string(account.RoleService) {
			return audit.ErrRole
		}
		return nil
	}, e)
}

func (u *Users) delete(ctx context.Context, id idworker.ID, check func(tokenRow) error, e audit.Event) ([]session.Session, error) {
	now, already := u.DB.d.now, false
	ended, err := u.DB.change(ctx, id, func(row tokenRow) (accountChange, error) {
		// A release that does not know of deletions may have enabled the account since.
		already = row.DeletedAt.Valid && row.DisabledAt.Valid && !row.HasPassword && !row.TokenID.Valid
		c := accountChange{
			set:    "deleted_at = " + now + ", disabled_at = COALESCE(disabled_at, " + now + "), deletion_asked_at = NULL, password_hash = '', " + noFactor,
			reason: session.Revoked, events: []audit.Event{e}, deletes: true,
			losesAdmin: serves(row.user()),
			first:      func(tx *gorm.DB) error { return u.withdrawAll(tx, id) },
		}
		if err := check(row); err != nil {
			return c, err
		}
		if already {
			return c, errAlready
		}
		return c, nil
	})
	if err == nil && already { // no transaction has checked the rights
		err = u.Authorize(ctx, e.By, e.Need)
	}
	return ended, failed("delete user", err)
}

// withdrawAll ends the one-time link and the service keys of a user, whose row it locks
// first, as all do that write these.
func (u *Users) withdrawAll(tx *gorm.DB, id idworker.ID) error {
	if err := u.DB.holdUser(tx, id); err != nil {
		return err
	}
	if err := tx.Exec("DELETE FROM password_resets WHERE user_id = ?", int64(id)).Error; err != nil {
		return err
	}
	return tx.Exec("UPDATE service_keys SET revoked_at = "+u.DB.d.now+" WHERE user_id = ? AND revoked_at IS NULL", int64(id)).Error
}

// AskDeletion notes that a user wants the account to be deleted, and ends the logins. It
// returns the sessions that ended. It fails with [account.ErrNotFound], with
// [audit.ErrRole] for a service, and with [account.ErrLastAdmin] if no enabled admin would
// be left. The version of the password is raised: a login that was decided before finds it
// stale, and does not cancel what was asked for. The password is the same, so one that was
// imported stays so.
func (u *Users) AskDeletion(ctx context.Context, id idworker.ID, e audit.Event) ([]session.Session, error) {
	ended, err := u.DB.change(ctx, id, func(row tokenRow) (accountChange, error) {
		if row.Role == string(account.RoleService) {
			return accountChange{}, audit.ErrRole
		}
		return accountChange{
			set:  "deletion_asked_at = " + u.DB.d.now + ", deletion_asked_login = ?, imported_version = imported_version + 1, password_version = password_version + 1",
			args: []any{row.last()}, reason: session.LoggedOut, events: []audit.Event{e}, losesAdmin: serves(row.user()),
		}, nil
	})
	return ended, failed("ask for a deletion", err)
}

// KeepAsked cancels the deletion for which a user has asked before that time, with its event;
// it does nothing where there is none.
func (u *Users) KeepAsked(ctx context.Context, id idworker.ID, before time.Time, e audit.Event) error {
	err := u.DB.write(ctx, func(tx *gorm.DB) error {
		return found(tx.Exec("UPDATE users SET deletion_asked_at = NULL WHERE id = ? AND deletion_asked_at < ? AND "+notDeleted, int64(id), before.UnixMilli()), errAlready)
	}, e)
	return failed("cancel a deletion", err)
}

// cancelDeletion cancels, with its event, the deletion for which the user of a login that
// begins has asked. The row is locked. It fails with [session.ErrDeletionAsked] if the login
// brings no event.
func (s *Sessions) cancelDeletion(tx *gorm.DB, o session.Opening, username string) error {
	if o.Cancels == nil {
		return session.ErrDeletionAsked
	}
	if err := tx.Exec("UPDATE users SET deletion_asked_at = NULL WHERE id = ?", int64(o.UserID)).Error; err != nil {
		return err
	}
	by := o.Cancels.By
	if by.Key == 0 { // not an issuer
		by.ID, by.Name = o.UserID, username
	}
	e, err := audit.WithID(o.Cancels.ID, by, o.Cancels.Need, audit.DeletionOff, audit.AboutUser(o.UserID, username), "", nil, nil)
	if err != nil {
		return err
	}
	return permit{tx, by, audit.NeedsNothing}.record(e)
}

// AskedBefore are at most limit users who asked before that time for their account to be
// deleted, the earliest first.
func (u *Users) AskedBefore(ctx context.Context, before time.Time, limit int) ([]account.User, error) {
	return u.page(ctx, "deletion_asked_at < ?", []any{before.UnixMilli()}, "deletion_asked_at", limit)
}

// DeletedBefore are at most limit users who were deleted before that time, the earliest
// first.
func (u *Users) DeletedBefore(ctx context.Context, before time.Time, limit int) ([]account.User, error) {
	var rows []userRow
	err := u.DB.query(ctx, &rows, "SELECT * FROM users WHERE deleted_at < ? ORDER BY deleted_at LIMIT ?", before.UnixMilli(), limit)
	return usersOf(rows), failed("list deleted users", err)
}

// RecordExport writes the event that its target has exported the own data, unless most of them
// are on record since that time: then it writes nothing, and returns the ID of the first of
// these. Calls for one user come one after the other.
func (u *Users) RecordExport(ctx context.Context, e audit.Event, since time.Time, most int) (full idworker.ID, err error) {
	err = u.DB.transact(ctx, func(tx *gorm.DB) error {
		full = 0
		// Before the rights are looked at, which keeps the row from changing: two that do both
		// could not both go on.
		if _, err := u.lockVersion(tx, e.Target.ID); err != nil {
			return err
		}
		return u.DB.recorded(tx, func(tx *gorm.DB) error {
			var done []int64
			err := tx.Raw("SELECT id FROM audit_events WHERE target_id = ? AND action = ? AND id >= ? ORDER BY id DESC LIMIT ?",
				int64(e.Target.ID), string(e.Action), int64(layout.Smallest(since)), most).Scan(&done).Error
			if err == nil && len(done) == most {
				full, err = idworker.ID(done[most-1]), errAlready
			}
			return err
		}, e)
	})
	return full, failed("record an export", err)
}
