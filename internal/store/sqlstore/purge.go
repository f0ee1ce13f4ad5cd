package sqlstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// DeletedBefore are at most limit users who were deleted before that time, the earliest
// first.
func (u *Users) DeletedBefore(ctx context.Context, before time.Time, limit int) ([]account.User, error) {
	var rows []userRow
	err := u.DB.query(ctx, &rows, "SELECT * FROM users WHERE deleted_at < ? ORDER BY deleted_at LIMIT ?", before.UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: list deleted users: %w", err)
	}
	users := make([]account.User, len(rows))
	for i := range rows {
		users[i] = rows[i].user()
	}
	return users, nil
}

// Clock is the clock of the database.
func (u *Users) Clock(ctx context.Context) (time.Time, error) { return u.DB.Clock(ctx) }

// A namedRow is what an entry of the record has of a person.
type namedRow struct {
	ID                 int64
	OldValue, NewValue []byte
}

// Forget takes the name of a user out of at most limit entries of the record, and returns
// how many it found. Fewer than limit means that none is left; then the name is out of the
// history of the policy and of the sweeps as well. The IDs stay.
//
// The indexes of names find the entries: those without the name are not looked at again,
// so a call costs what limit says, however long the record is. "+ 0" hides the index of IDs,
// where the whole past of the user is. A login is called by its user's name, and no other
// user has the name before the purge.
func (u *Users) Forget(ctx context.Context, user account.User, limit int) (int, error) {
	var acted, met []namedRow
	name, id := user.Username, int64(user.ID)
	err := u.DB.query(ctx, &acted, "SELECT id FROM audit_events WHERE actor = ? AND actor_id + 0 = ? ORDER BY id LIMIT ?", name, id, limit)
	if err == nil {
		err = u.DB.query(ctx, &met, "SELECT id, old_value, new_value FROM audit_events WHERE target = ? "+
			"AND (target_kind = 'login' OR target_kind = 'user' AND target_id + 0 = ?) ORDER BY id LIMIT ?", name, id, limit)
	}
	if err == nil && len(acted)+len(met) > 0 {
		err = u.DB.transact(ctx, func(tx *gorm.DB) error { return forget(tx, acted, met) })
	}
	found := max(len(acted), len(met))
	if err == nil && found < limit {
		err = u.forgetElsewhere(ctx, name)
	}
	if err != nil {
		return 0, fmt.Errorf("sqlstore: take a name out of the record: %w", err)
	}
	return found, nil
}

// forget blanks the names of actors, with their addresses, and of targets. Each statement
// names one row by its key: see [Audit.DeleteBefore].
func forget(tx *gorm.DB, acted, met []namedRow) error {
	for i := range acted {
		if err := tx.Exec("UPDATE audit_events SET actor = '', address = '' WHERE id = ?", acted[i].ID).Error; err != nil {
			return err
		}
	}
	for i := range met {
		err := tx.Exec("UPDATE audit_events SET target = '', old_value = ?, new_value = ? WHERE id = ?",
			nameless(met[i].OldValue), nameless(met[i].NewValue), met[i].ID).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// personal are the members of values in the record that name a person, or a device of one.
var personal = []string{"username", "external_id", "device_name"}

// nameless is a value of the record without them. One that cannot be read is dropped.
func nameless(value []byte) []byte {
	if !bytes.Contains(value, []byte(`name"`)) && !bytes.Contains(value, []byte(`external_id"`)) {
		return notNull(value)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return []byte{}
	}
	strip(v)
	text, err := json.Marshal(v)
	if err != nil {
		return []byte{}
	}
	return text
}

func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range personal {
			delete(v, name)
		}
		for _, inner := range v {
			strip(inner)
		}
	case []any:
		for _, inner := range v {
			strip(inner)
		}
	}
}

// gone stands for a name in the history of the policy and of the sweeps, which have no ID.
const gone = "deleted user"

// forgetElsewhere looks first, and names each row by its key: what it does not change, it
// does not lock.
func (u *Users) forgetElsewhere(ctx context.Context, name string) error {
	for _, at := range [][3]string{{"settings", "version", "updated_by"}, {"policies", "version", "updated_by"}, {"sweeps", "id", "requested_by"}} {
		table, key, column := at[0], at[1], at[2]
		var keys []int64
		if err := u.DB.query(ctx, &keys, "SELECT "+key+" FROM "+table+" WHERE "+column+" = ?", name); err != nil {
			return err
		}
		scope := ""
		if key == "version" {
			scope = "scope = 'global' AND "
		}
		for _, k := range keys {
			if err := u.DB.exec(ctx, "UPDATE "+table+" SET "+column+" = ? WHERE "+scope+key+" = ?", gone, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofPeople are the tables with rows of one person, and the column that says whose. The row
// of users goes last. A guard of login_guards is the ID of an account, or a keyed hash.
var ofPeople = [][2]string{
	{"known_places", "user_id"}, {"login_guards", "guard"}, {"password_resets", "user_id"}, {"password_resets", "issued_by"},
	{"user_slots", "user_id"}, {"service_keys", "user_id"}, {usersTable, "id"},
}

// Purge deletes the rows of a user who was deleted before that time, and writes the event,
// all or nothing. Where there is no such user it does nothing, so that several instances
// may call it at once.
func (u *Users) Purge(ctx context.Context, id idworker.ID, before time.Time, e audit.Event) error {
	err := u.DB.write(ctx, func(tx *gorm.DB) error {
		var found []int64
		err := tx.Raw("SELECT id FROM users WHERE id = ? AND deleted_at < ?"+u.DB.d.forRead, int64(id), before.UnixMilli()).Scan(&found).Error
		if err == nil && len(found) == 0 {
			err = errAlready
		}
		if err != nil {
			return err
		}
		for _, of := range ofPeople {
			if err := tx.Exec("DELETE FROM "+of[0]+" WHERE "+of[1]+" = ?", int64(id)).Error; err != nil {
				return err
			}
		}
		return nil
	}, e)
	if err != nil {
		return fmt.Errorf("sqlstore: purge user: %w", err)
	}
	return nil
}
