package sqlstore

import (
	"cmp"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Slot 0 of a user is on the user's row. Each further slot is a row of user_slots with the
// same columns, so that one statement serves both with another name of the table. Who
// locks rows of both locks that of the user first.
const (
	usersTable = "users"
	slotsTable = "user_slots"
)

// table is where the row is.
func (r *tokenRow) table() string {
	if r.Slot == 0 {
		return usersTable
	}
	return slotsTable
}

// columns are those of a tokenRow in a table.
func columns(table string) string {
	if table == usersTable {
		return tokenColumns
	}
	return slotColumns
}

// slotColumns are tokenColumns of a further slot. What is on the row of the user is read
// in subqueries: a locking read does not lock what they read.
var slotColumns = slotKeys + ofUser("username") + ", " + ofUser("role") + ", " + ofUser("password_version") + ", " + ofUser("disabled_at") + ", " + keptColumns

// ownColumns are slotColumns without what is on the row of the user.
const ownColumns = slotKeys + keptColumns

const slotKeys = "id AS row_id, slot, user_id, act_id, "

func ofUser(column string) string {
	return "(SELECT users." + column + " FROM users WHERE users.id = user_slots.user_id) AS " + column
}

// tables are those that may hold sessions. user_slots is one of them only if settings.slots is
// above 0. A policy that allows a second session a user or refuses logins raises that number, and
// so does the first impersonation. A read of the settings notes it: see [DB.allows].
func (db *DB) tables() []string {
	if db.further.Load() {
		return []string{usersTable, slotsTable}
	}
	return []string{usersTable}
}

// allows notes whether there may be further slots. slots is settings.slots, which only grows.
func (db *DB) allows(slots int) {
	if slots > 0 {
		db.further.Store(true)
	}
}

// rowsOf are the rows of a user, first the given one of slot 0, with the global floor; and
// the policy, if there may be further slots. They are not locked. If the row of the user
// is, no login begins meanwhile, but sessions may end.
func (s *Sessions) rowsOf(tx *gorm.DB, row tokenRow) (rows []tokenRow, now ruleRow, err error) {
	if !s.DB.further.Load() {
		if row.GlobalFloor, err = s.DB.floor(tx, ""); err != nil || !s.DB.further.Load() {
			return []tokenRow{row}, ruleRow{}, err
		}
	}
	var found []struct {
		Row  tokenRow    `gorm:"embedded"`
		Rule settingsRow `gorm:"embedded"`
	}
	err = tx.Raw("SELECT "+ownColumns+", "+settingsColumns+", s.global_floor, "+s.DB.d.now+" AS now FROM settings s "+
		"LEFT JOIN user_slots ON user_id = ? WHERE s.scope = 'global'", row.UserID).Scan(&found).Error
	switch {
	case err != nil:
		return nil, ruleRow{}, err
	case len(found) == 0:
		return nil, ruleRow{}, errNoSettings
	}
	now = ruleRow{Rule: found[0].Rule, GlobalFloor: found[0].Row.GlobalFloor, Now: found[0].Row.Now}
	if err := now.Rule.read(); err != nil {
		return nil, ruleRow{}, err
	}
	row.GlobalFloor = now.GlobalFloor
	rows = append(make([]tokenRow, 0, 1+len(found)), row)
	for i := range found {
		if r := found[i].Row; r.Slot != 0 {
			r.Username, r.Role, r.PasswordVersion, r.DisabledAt = row.Username, row.Role, row.PasswordVersion, row.DisabledAt
			rows = append(rows, r)
		}
	}
	// In the order in which all lock them. There are few, and the database would sort them
	// in a table.
	slices.SortFunc(rows, func(a, b tokenRow) int { return cmp.Compare(a.Slot, b.Slot) })
	return rows, now, nil
}

// endSlots ends the sessions of those rows of which e is, but the one with the ID keep. It
// returns what it ended, the newest first, as it was.
func (s *Sessions) endSlots(tx *gorm.DB, rows []tokenRow, e session.Ending, keep idworker.ID, asOf time.Time) (was []session.Session, err error) {
	for i := range rows {
		row := rows[i]
		row.DisabledAt.Valid = false // of a user whom a release that knows one slot has disabled, further ones live on
		now := row.current(asOf)
		if !row.TokenID.Valid || now.ID == keep || !now.Alive() || !now.Of(e.Class) {
			continue
		}
		if err := s.end(tx, row, e.Reason); err != nil {
			return nil, err
		}
		was = append(was, now)
	}
	newestFirst(was)
	return was, nil
}

// stamp stamps the last end in each of those slots anew, as far as nothing lived there.
func (s *Sessions) stamp(tx *gorm.DB, rows []tokenRow) error {
	for i := range rows {
		if rows[i].TokenID.Valid {
			continue // its end has a stamp, or it goes on
		}
		if err := tx.Exec("UPDATE "+rows[i].table()+" SET "+s.DB.d.stampNow()+" WHERE id = ?", rows[i].RowID).Error; err != nil {
			return err
		}
	}
	return nil
}

// floor is the ID at and below which every session of every user is over. lock is what
// keeps it as it is.
func (db *DB) floor(on *gorm.DB, lock string) (int64, error) {
	row, err := first[struct {
		GlobalFloor int64
		Slots       int
	}](on, errNoSettings, "SELECT global_floor, slots FROM settings WHERE scope = 'global'"+lock)
	db.allows(row.Slots)
	return row.GlobalFloor, err
}

// lastDevices are the devices of the last session in each row that has had one.
func lastDevices(rows []tokenRow) []*session.Device {
	last := make([]*session.Device, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if id := max(r.TokenID.Int64, r.EndedTokenID.Int64); id != 0 && r.act() == 0 {
			last = append(last, r.session(id, nil, time.Time{}).Device)
		}
	}
	return last
}

// held are the sessions that rows have of the user: an impersonation is none.
func held(rows []tokenRow, asOf time.Time) []session.Session {
	list := make([]session.Session, 0, len(rows))
	for i := range rows {
		if rows[i].TokenID.Valid && rows[i].act() == 0 {
			list = append(list, rows[i].current(asOf))
		}
	}
	return list
}

// overBy reports whether a floor, or the policy of now, has ended a session.
func overBy(now ruleRow) func(*session.Session) bool {
	return func(s *session.Session) bool {
		if !s.Alive() {
			return true
		}
		why, _ := now.judge(s)
		return why != ""
	}
}

// inSlot is the row of a slot, or nil if there is none yet.
func inSlot(rows []tokenRow, slot session.Slot) *tokenRow {
	for i := range rows {
		if rows[i].Slot == slot {
			return &rows[i]
		}
	}
	return nil
}

// alone returns [gorm.ErrDuplicatedKey] if another session has the ID of one that has just
// begun, or had it. Two users with the same one could not both log out, and no index knows
// the IDs of both tables, nor of those that have ended.
func (s *Sessions) alone(tx *gorm.DB, id idworker.ID) error {
	query, args := "SELECT 1 + COUNT(*) FROM users WHERE ended_token_id = ?", []any{int64(id)}
	if s.DB.further.Load() {
		query = "SELECT (SELECT COUNT(*) FROM users WHERE token_id = ?) + (SELECT COUNT(*) FROM user_slots WHERE token_id = ?) + " +
			"(SELECT COUNT(*) FROM users WHERE ended_token_id = ?) + (SELECT COUNT(*) FROM user_slots WHERE ended_token_id = ?)"
		args = []any{int64(id), int64(id), int64(id), int64(id)}
	}
	var n int64
	if err := tx.Raw(query, args...).Scan(&n).Error; err != nil {
		return err
	}
	if n != 1 {
		return gorm.ErrDuplicatedKey
	}
	return nil
}
