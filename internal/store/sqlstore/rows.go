package sqlstore

import (
	"cmp"
	"database/sql"
	"time"
	"unique"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A userRow is the account half of a user's row: all that GORM may write.
type userRow struct {
	ID              int64   `gorm:"primaryKey;autoIncrement:false"`
	Username        string  `gorm:"<-:create"`
	PasswordHash    string  `gorm:"<-:create"`
	PasswordVersion int64   `gorm:"<-:create"`
	Role            string  `gorm:"<-:create"`
	DisabledAt      *int64  `gorm:"<-:create"`
	ExternalID      *string `gorm:"<-:create"`
	ImportedVersion *int64  `gorm:"<-:create"`
	CountedByID     bool    `gorm:"<-:create"`
	SecondFactorAt  *int64  `gorm:"->"` // secondfactor.go writes it
	DeletedAt       *int64  `gorm:"->"` // deletions.go writes these
	DeletionAskedAt *int64  `gorm:"->"`
	CreatedAt       int64   `gorm:"autoCreateTime:false"`
	UpdatedAt       int64   `gorm:"autoUpdateTime:false"`
}

func (userRow) TableName() string { return "users" }

func (r *userRow) user() account.User {
	u := account.User{
		ID: idworker.ID(r.ID), Username: r.Username, Role: account.Role(r.Role),
		PasswordHash: account.NewPHC(r.PasswordHash), PasswordVersion: r.PasswordVersion, CountedByID: r.CountedByID,
		DisabledAt: timeOrZero(r.DisabledAt), SecondFactorAt: timeOrZero(r.SecondFactorAt), DeletionAskedAt: timeOrZero(r.DeletionAskedAt), Deleted: r.DeletedAt != nil,
		CreatedAt: fromMillis(r.CreatedAt), UpdatedAt: fromMillis(r.UpdatedAt),
	}
	if r.ExternalID != nil {
		u.ExternalID = *r.ExternalID
	}
	if r.ImportedVersion != nil {
		u.ImportedVersion = *r.ImportedVersion
	}
	return u
}

func usersOf(rows []userRow) []account.User {
	users := make([]account.User, len(rows))
	for i := range rows {
		users[i] = rows[i].user()
	}
	return users
}

// A tokenRow is the token half, with what is needed beside it to answer for a
// login.
type tokenRow struct {
	RowID           int64 // the key of the row in its table
	Slot            session.Slot
	UserID          int64
	ActID           sql.NullInt64 // the admin of an impersonation
	Username        string
	Role            string
	PasswordVersion int64
	DisabledAt      sql.NullInt64
	TokenID         sql.NullInt64
	TokenHash       []byte
	TokenSeenAt     sql.NullInt64
	TokenFloor      int64
	TokenFloorAt    int64
	EndedTokenID    sql.NullInt64
	EndedTokenHash  []byte
	EndedReason     sql.NullString
	DeviceTokenID   sql.NullInt64
	DeviceClass     sql.NullString
	DeviceName      sql.NullString
	DeviceKey       []byte
	AuthTokenID     sql.NullInt64
	AuthMethod      sql.NullString
	AuthTime        sql.NullInt64
	GlobalFloor     int64 // of all users, beside the row's own

	// Beside a row that is read to change the account, or to begin a login.
	DeletedAt          sql.NullInt64
	DeletionAskedAt    sql.NullInt64
	DeletionAskedLogin int64
	HasPassword        bool

	// Beside a row that Sessions.find has read.
	PolicyVersion int64
	Slots         int   // above 0 if there may be further slots: see tables
	Allowed       int   // how many sessions a user has by the policy in force
	ReducedTo     int   // more than are allowed while those that are too many are looked for
	Held          int   // how many sessions the user has, if there may be further slots
	Now           int64 // by the clock of the database
	ReadOnly      bool
}

// tokenColumns are those of slot 0.
const tokenColumns = "id AS row_id, 0 AS slot, id AS user_id, NULL AS act_id, username, role, password_version, disabled_at, " + keptColumns

// accountColumns are beside those of a row that is read to change the account.
const accountColumns = ", deleted_at, deletion_asked_at, COALESCE(deletion_asked_login, 0) AS deletion_asked_login, password_hash <> '' AS has_password"

// keptColumns are those that each slot has.
const keptColumns = "token_id, token_hash, token_seen_at, token_floor, token_floor_at, ended_token_id, ended_token_hash, ended_reason, " +
	"device_token_id, device_class, device_name, device_key, auth_token_id, auth_method, auth_time"

// last is the ID of the last session that began in the slot; 0 if there was none.
func (r *tokenRow) last() int64 { return max(r.TokenID.Int64, r.EndedTokenID.Int64) }

// current is the session that the row holds; its ID is 0 if there is none.
func (r *tokenRow) current(asOf time.Time) session.Session {
	s := r.session(r.TokenID.Int64, r.TokenHash, asOf)
	s.Seen = fromMillis(r.TokenSeenAt.Int64)
	if s.Act != 0 {
		s.Seen = layout.Time(s.ID)
	}
	switch {
	case r.DisabledAt.Valid:
		s.Ended = session.Disabled
	case r.TokenID.Int64 <= max(r.TokenFloor, r.GlobalFloor):
		s.Ended = session.Revoked
	}
	return s
}

// ended is the session that the row held last; its ID is 0 if there was none.
func (r *tokenRow) ended(asOf time.Time) session.Session {
	s := r.session(r.EndedTokenID.Int64, r.EndedTokenHash, asOf)
	// Whatever else is wrong with it, what has ended is never taken for alive.
	s.Ended = cmp.Or(session.Reason(r.EndedReason.String), session.Revoked)
	if s.Ended != session.Expired && s.Ended != session.Idle && r.TokenFloor == r.EndedTokenID.Int64 {
		s.EndedAt = r.TokenFloorAt // a sweep leaves no stamp
	}
	return s
}

// act is the admin of an impersonation; 0 for a login. One that lives in a row that has an admin
// is a login if it was ever used: a release that does not know impersonations leaves the admin
// where it is.
func (r *tokenRow) act() idworker.ID {
	if r.TokenID.Valid && r.TokenSeenAt.Int64 != neverUsed {
		return 0
	}
	return idworker.ID(r.ActID.Int64)
}

func (r *tokenRow) session(id int64, hash []byte, asOf time.Time) session.Session {
	s := session.Session{
		ID: idworker.ID(id), UserID: idworker.ID(r.UserID), Username: r.Username, Role: r.Role, AsOf: asOf, Slot: r.Slot, Act: r.act(),
	}
	copy(s.Hash[:], hash)
	if id != 0 && r.DeviceTokenID.Int64 == id {
		s.Device = session.DeviceOf(r.DeviceClass.String, r.DeviceName.String).WithKey(string(r.DeviceKey))
	}
	if id != 0 && r.AuthTokenID.Int64 == id {
		s.Auth = &session.Auth{Method: unique.Make(r.AuthMethod.String).Value(), At: fromMillis(r.AuthTime.Int64)}
	}
	return s
}

// excess reports whether the user has more sessions than the policy allows, which one
// read cannot judge: see [Sessions.reduce]. While a lower limit is being carried out, it may
// be one on the class of a device.
func (r *tokenRow) excess() bool {
	return r.TokenID.Valid && (r.Held > max(r.Allowed, 1) || r.Held > 1 && r.ReducedTo > r.Allowed)
}

// highest is an ID that no session in this slot has exceeded.
func (r *tokenRow) highest() idworker.ID {
	return idworker.ID(max(r.TokenID.Int64, r.TokenFloor, r.EndedTokenID.Int64, r.GlobalFloor))
}

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// timeOrZero is the time in a column; the zero time for NULL.
func timeOrZero(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return fromMillis(*ms)
}

// millisOrNull is what [timeOrZero] reads.
func millisOrNull(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMilli())
}

// one is the row of a session, or [session.ErrNotFound].
func one(on *gorm.DB, query string, args ...any) (tokenRow, error) {
	return first[tokenRow](on, session.ErrNotFound, query, args...)
}

func (s *Sessions) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// setAuth writes how an issuer has authenticated the user of a login, which it names too.
const setAuth = "auth_token_id = ?, auth_method = ?, auth_time = ?"

func authArgs(o *session.Opening) []any {
	how := o.Place.Issued.How()
	if how == nil {
		return []any{nil, nil, nil}
	}
	return []any{int64(o.ID), how.Method, how.At.UnixMilli()}
}

// provedAt is when password and code were shown in the login that a statement writes: just
// now, or before the ticket that opens it, or when an issuer has authenticated the user. For the acts of an admin, or of a service,
// what another system has checked is not enough.
func (d *dialect) provedAt(o *session.Opening, role string) (sql string, args []any) {
	how := o.Place.Issued.How()
	switch {
	case how == nil:
		return d.now + " - ?", []any{o.Place.ProofAge.Milliseconds()}
	case role != string(account.RoleUser):
		return "?", []any{nil}
	}
	return "?", []any{how.At.UnixMilli()}
}

// A foundUser is a user that one statement has found.
type foundUser struct {
	User     userRow `gorm:"embedded"`
	Alias    string
	ReadOnly bool
}
