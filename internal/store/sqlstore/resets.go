package sqlstore

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A resetRow is a started reset. It is of one version of the user's password, of
// its issuer's account, and of the end of all logins: whatever raises one of these
// ends the reset, without having to know of it. A rename does not: it takes them along.
type resetRow struct {
	UserID          int64 `gorm:"primaryKey;autoIncrement:false"`
	TokenHash       []byte
	PasswordVersion int64
	ExpiresAt       int64
	IssueID         int64
	IssueHash       []byte // TokenHash: what is said of the issue is of this token
	IssuedBy        int64
	Issuer          string
	IssuerChangedAt *int64 // nil for a command on the server
	AllEndedAt      int64
}

func (resetRow) TableName() string { return "password_resets" }

// resetTables are the resets r with all that decides whether one can be used: the
// user u, the issuer i, if it is a user, and the settings s.
const resetTables = "password_resets AS r JOIN users AS u ON u.id = r.user_id " +
	"JOIN settings AS s ON s.scope = 'global' LEFT JOIN users AS i ON i.id = r.issued_by"

// usable is the condition under which a row of resetTables can be used at the time
// that is its argument. It is NULL, and so none, for what the previous release
// wrote: its issuer is not known.
//
// COALESCE hides columns of the issuer from the planner. MySQL 9.7, which reads r and
// i by their keys before it decides, takes "issued_by = 0 OR i.updated_at = …" for
// decided without it: it gives i.updated_at the value that it is compared with.
const usable = "(r.expires_at > ? AND r.password_version = u.password_version AND r.issue_hash = r.token_hash " +
	"AND r.all_ended_at = s.global_floor_at AND (r.issued_by = 0 OR " +
	"COALESCE(i.role, '') = 'admin' AND i.disabled_at IS NULL AND COALESCE(i.updated_at, 0) = r.issuer_changed_at))"

// StartReset keeps a reset of the password that the user has now, in the place
// of one that was started before, and writes the event in the same transaction.
// It fails with [account.ErrNotFound].
func (u *Users) StartReset(ctx context.Context, r account.Reset, e audit.Event) error {
	err := u.DB.write(ctx, func(tx *gorm.DB) error {
		version, err := u.lockVersion(tx, r.UserID)
		if err != nil {
			return err
		}
		return keepReset(tx, r, version)
	}, e)
	return failed("start reset", err)
}

// lockVersion locks the row of a user, and returns the version of the password, or
// [account.ErrNotFound]. Each statement that writes a reset locks that first.
func (u *Users) lockVersion(tx *gorm.DB, id idworker.ID) (int64, error) {
	return first[int64](tx, account.ErrNotFound, "SELECT password_version FROM users WHERE id = ? AND "+notDeleted+u.DB.d.forRead, int64(id))
}

// keepReset writes a reset with what its issuer's right is of at this moment. It takes no
// lock: what changes from now on ends the reset. A rename, which does not, waits for the row of
// the issuer, which is the actor: see [DB.actor].
func keepReset(tx *gorm.DB, r account.Reset, version int64) error {
	row := resetRow{
		UserID: int64(r.UserID), TokenHash: r.Hash[:], PasswordVersion: version, ExpiresAt: r.ExpiresAt.UnixMilli(),
		IssueID: int64(r.ID), IssueHash: r.Hash[:], IssuedBy: int64(r.Issuer.ID), Issuer: cut(r.Issuer.Name, 255),
	}
	now, err := first[struct {
		IssuerChangedAt *int64
		AllEndedAt      int64
	}](tx, errNoSettings, "SELECT (SELECT updated_at FROM users WHERE id = ?) AS issuer_changed_at, global_floor_at AS all_ended_at "+
		"FROM settings WHERE scope = 'global'", int64(r.Issuer.ID))
	if err != nil {
		return err
	}
	row.IssuerChangedAt, row.AllEndedAt = now.IssuerChangedAt, now.AllEndedAt
	return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}}, UpdateAll: true}).Create(&row).Error
}

// CreateInvited adds a user together with a reset by which the first password is
// set, and their events, or returns [account.ErrExists] if the name is taken.
func (u *Users) CreateInvited(ctx context.Context, user account.User, r account.Reset, events ...audit.Event) error {
	return created("invite user", u.DB.write(ctx, func(tx *gorm.DB) error {
		if err := u.create(tx, user); err != nil {
			return err
		}
		return keepReset(tx, r, user.PasswordVersion)
	}, events...))
}

// ByReset finds the user whose reset has that hash and can be used at that time,
// and the issuer. It fails with [account.ErrReset], in an
// [*account.RefusedError] if there is such a reset and it cannot be used.
func (u *Users) ByReset(ctx context.Context, hash account.ResetHash, now time.Time) (account.User, account.Issuer, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var row struct {
		User     userRow `gorm:"embedded"`
		Usable   bool
		IssuedBy *int64
		Issuer   *string
	}
	err := u.DB.gorm.WithContext(ctx).Connection(func(conn *gorm.DB) error {
		conn = conn.Session(&gorm.Session{NewDB: true})
		done := conn.Raw("SELECT u.*, COALESCE("+usable+", FALSE) AS usable, "+
			"CASE WHEN r.issue_hash = r.token_hash THEN r.issued_by END AS issued_by, "+
			"CASE WHEN r.issue_hash = r.token_hash THEN r.issuer END AS issuer FROM "+resetTables+" WHERE r.token_hash = ?",
			now.UnixMilli(), hash[:]).Scan(&row)
		return u.DB.certain(conn, u.DB.decided(conn, found(done, account.ErrReset)))
	})
	if err != nil {
		return account.User{}, account.Issuer{}, failed("find reset", err)
	}
	var issuer account.Issuer
	if row.IssuedBy != nil && row.Issuer != nil {
		issuer = account.Issuer{ID: idworker.ID(*row.IssuedBy), Name: *row.Issuer}
	}
	user := row.User.user()
	if !row.Usable {
		return account.User{}, account.Issuer{}, &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Issuer: issuer, Err: account.ErrReset}
	}
	return user, issuer, nil
}

// UseReset sets the hash of a new password, ends the user's logins, spends the
// reset and writes the event, all or nothing. It fails with [account.ErrReset]
// unless the reset can be used at that time and the password is still of that
// version, which it is for one of several uses at the same time; and with
// [account.ErrDisabled], which leaves the reset as it is.
//
// Whether it can be used is decided with the issuer's row locked: the issuer's right
// cannot end between that and the commit.
func (u *Users) UseReset(ctx context.Context, r account.Reset, version int64, hash account.PHC, now time.Time, e audit.Event) ([]session.Session, error) {
	ended, err := u.DB.change(ctx, r.UserID, func(row tokenRow) (accountChange, error) {
		switch {
		case row.PasswordVersion != version:
			return accountChange{}, account.ErrReset
		case row.DisabledAt.Valid:
			return accountChange{}, account.ErrDisabled
		}
		return accountChange{
			set: "password_hash = ?, password_version = password_version + 1, " + noPending, args: []any{hash.Reveal()},
			reason: session.PasswordChanged, events: []audit.Event{e},
			// Before the change, which may be one of the issuer's own account.
			first: func(tx *gorm.DB) error {
				return u.spendReset(tx, r.UserID, now, "r.token_hash = ?", r.Hash[:])
			},
		}, nil
	})
	if errors.Is(err, account.ErrNotFound) {
		err = account.ErrReset // deleted meanwhile
	}
	return ended, failed("use reset", err)
}

// spendReset removes the reset of a user that is as where says and can be used at
// that time, or fails with [account.ErrReset].
func (u *Users) spendReset(tx *gorm.DB, user idworker.ID, now time.Time, where string, args ...any) error {
	if _, err := u.lockVersion(tx, user); err != nil {
		return err
	}
	_, err := first[int64](tx, account.ErrReset, "SELECT r.user_id FROM "+resetTables+" WHERE r.user_id = ? AND "+usable+" AND "+where+u.DB.d.forRead,
		append([]any{int64(user), now.UnixMilli()}, args...)...)
	if err != nil {
		return err
	}
	return tx.Exec("DELETE FROM password_resets WHERE user_id = ?", int64(user)).Error
}
