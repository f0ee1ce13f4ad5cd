package sqlstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// Clock is the clock of the database.
func (u *Users) Clock(ctx context.Context) (time.Time, error) { return u.DB.Clock(ctx) }

// A namedRow is what an entry of the record has of a person.
type namedRow struct {
	ID                 int64
	Action, Target     string
	OldValue, NewValue []byte
}

const namedColumns = "SELECT id, action, target, old_value, new_value FROM audit_events WHERE "

// A hadName is a name of a user, from one entry of the record until before another.
type hadName struct {
	name        string
	from, until int64
}

// renamed is the action of an entry that says, by its target, which name a user had until
// then: so it is the last that is blanked.
const renamed = string(audit.UserRenamed)

// names are those that a user has had, and the entries that say so.
func (u *Users) names(ctx context.Context, user *account.User) (names []hadName, renames []namedRow, err error) {
	id := int64(user.ID)
	err = u.DB.query(ctx, &renames, namedColumns+u.DB.d.about()+" ORDER BY id", renamed, id)
	renames = slices.DeleteFunc(renames, func(r namedRow) bool { return r.Target == "" }) // done before
	from := id
	for i := range renames {
		names = append(names, hadName{renames[i].Target, from, renames[i].ID})
		from = renames[i].ID
	}
	return append(names, hadName{user.Username, from, math.MaxInt64}), renames, err
}

// Forget takes the names of a user out of at most limit entries of the record for each name,
// and returns how many it found of one. Fewer than limit means that none is left; then the
// names are out of the history of the policy and of the sweeps as well. The IDs stay.
//
// The indexes of names find the entries: those without the name are not looked at again,
// so a call costs what limit says, however long the record is. "+ 0" hides the index of IDs,
// where the whole past of the user is. A login is called by its user's name: nobody else has
// it at the same time, and before the purge. Where another instance has purged the user, nothing is left.
func (u *Users) Forget(ctx context.Context, user account.User, limit int) (int, error) {
	names, renames, err := u.names(ctx, &user)
	found := 0
	for i := 0; err == nil && i < len(names); i++ {
		var n int
		n, err = u.forgetName(ctx, &user, &names[i], limit)
		found = max(found, n)
	}
	if err == nil {
		var n int
		n, err = u.forgetActs(ctx, &user, limit)
		found = max(found, n)
	}
	for i := 0; err == nil && found < limit && i < len(names); i++ {
		err = u.forgetElsewhere(ctx, &user, names[i].name)
	}
	if err == nil && found < limit {
		err = u.forget(ctx, user.ID, nil, renames)
	}
	if errors.Is(err, errAlready) {
		return 0, nil
	}
	return found, failed("take a name out of the record", err)
}

func (u *Users) forgetName(ctx context.Context, user *account.User, had *hadName, limit int) (int, error) {
	var acted, met []namedRow
	id := int64(user.ID)
	err := u.DB.query(ctx, &acted, "SELECT id FROM audit_events WHERE actor = ? AND actor_id + 0 = ? ORDER BY id LIMIT ?", had.name, id, limit)
	if err == nil {
		err = u.DB.query(ctx, &met, namedColumns+"target = ? AND action <> ? AND (target_kind = 'login' AND id >= ? AND id < ? OR target_kind = 'user' AND target_id + 0 = ?) "+
			"ORDER BY id LIMIT ?", had.name, renamed, had.from, had.until, id, limit)
	}
	if err == nil {
		err = u.forget(ctx, user.ID, acted, met)
	}
	return max(len(acted), len(met)), err
}

// forgetActs takes the name of a user out of the ends of the admins who acted for the user.
// Earlier versions have written it there.
func (u *Users) forgetActs(ctx context.Context, user *account.User, limit int) (int, error) {
	var admins []int64
	err := u.DB.query(ctx, &admins, "SELECT actor_id FROM audit_events WHERE "+u.DB.d.about(), string(audit.ImpersonationBegan), int64(user.ID))
	slices.Sort(admins)
	var met []namedRow
	for _, admin := range slices.Compact(admins) {
		var of []namedRow
		if err == nil {
			err = u.DB.query(ctx, &of, namedColumns+"target_id = ? AND action IN (?, ?) AND INSTR(old_value, ?) > 0 ORDER BY id LIMIT ?",
				admin, string(audit.LoginEnded), string(audit.LoginLoggedOut), `"user_id":"`+user.ID.String()+`","username"`, limit)
		}
		met = append(met, of...)
	}
	if err != nil {
		return 0, err
	}
	theirs := func(of map[string]any, name string) bool {
		return name == "username" && of["user_id"] == user.ID.String()
	}
	return len(met), u.each(ctx, user.ID, met, func(tx *gorm.DB, row *namedRow) error {
		return tx.Exec("UPDATE audit_events SET old_value = ? WHERE id = ?", notNull(audit.Without(row.OldValue, theirs)), row.ID).Error
	})
}

// forgetTogether is how many rows one transaction of forget writes, a statement each: few enough
// that a slow database ends them within tau, and that others do not wait long for their locks.
const forgetTogether = 20

// forget blanks the names of actors, with their addresses, and of targets. Each statement
// names one row by its key: see [Audit.DeleteBefore]. What a call wrote before an error stays
// written, and the next call goes on from there.
func (u *Users) forget(ctx context.Context, of idworker.ID, acted, met []namedRow) error {
	err := u.each(ctx, of, acted, func(tx *gorm.DB, row *namedRow) error {
		return tx.Exec("UPDATE audit_events SET actor = '', address = '' WHERE id = ?", row.ID).Error
	})
	if err != nil {
		return err
	}
	return u.each(ctx, of, met, func(tx *gorm.DB, row *namedRow) error {
		address := ""
		if audit.Action(row.Action).ByTarget() {
			address = ", address = ''"
		}
		return tx.Exec("UPDATE audit_events SET target = '', old_value = ?, new_value = ?"+address+" WHERE id = ?",
			nameless(row.OldValue), nameless(row.NewValue), row.ID).Error
	})
}

// each writes rows by f, forgetTogether in a transaction. It fails with errAlready if another instance has purged
// their user: while the row of the user is there, nobody else has the name.
func (u *Users) each(ctx context.Context, of idworker.ID, rows []namedRow, f func(tx *gorm.DB, row *namedRow) error) error {
	for together := range slices.Chunk(rows, forgetTogether) {
		err := u.DB.transact(ctx, func(tx *gorm.DB) error {
			if _, err := first[int64](tx, errAlready, "SELECT id FROM users WHERE id = ?"+u.DB.d.forShare, int64(of)); err != nil {
				return err
			}
			for i := range together {
				if err := f(tx, &together[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// personal are the members of values in the record that name a person, or a device of one.
var personal = []string{"username", "alias", "aliases", "external_id", "device_name"}

// nameless is a value of the record without them. One that cannot be read is dropped.
func nameless(value []byte) []byte {
	if !slices.ContainsFunc(personal, func(name string) bool { return bytes.Contains(value, []byte(`"`+name+`"`)) }) {
		return notNull(value)
	}
	return notNull(audit.Without(value, func(_ map[string]any, name string) bool { return slices.Contains(personal, name) }))
}

// gone stands for a name in the history of the policy and of the sweeps, which have no ID.
const gone = "deleted user"

// forgetElsewhere takes a name out of these where the record says that the user did it, and for
// an admin also where the record does not go back so far: the operator of a shell may have
// the same name. It looks first, and names each row by its key: what it does not change, it
// does not lock.
func (u *Users) forgetElsewhere(ctx context.Context, user *account.User, name string) error {
	for _, at := range [][4]string{
		{"settings", "version", "updated_by", string(audit.PolicyChanged)}, {"policies", "version", "updated_by", string(audit.PolicyChanged)},
		{"sweeps", "id", "requested_by", string(audit.SweepRequested)},
	} {
		table, key, column := at[0], at[1], at[2]
		var keys []int64
		if err := u.DB.query(ctx, &keys, "SELECT "+key+" FROM "+table+" WHERE "+column+" = ?", name); err != nil || len(keys) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		by, err := u.doers(ctx, at[3])
		if err != nil {
			return err
		}
		scope := ""
		if key == "version" {
			scope = "scope = 'global' AND "
		}
		for _, k := range keys {
			if id, known := by[k]; id != int64(user.ID) && (known || user.Role != account.RoleAdmin) {
				continue
			}
			if err := u.DB.exec(ctx, "UPDATE "+table+" SET "+column+" = ? WHERE "+scope+key+" = ?", gone, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// doers are the IDs of those who have changed the policy, by version, or who have asked for a
// sweep, by its ID; 0 for who has none.
func (u *Users) doers(ctx context.Context, action string) (map[int64]int64, error) {
	var rows []struct {
		ActorID, TargetID int64
		NewValue          []byte
	}
	err := u.DB.query(ctx, &rows, "SELECT COALESCE(actor_id, 0) AS actor_id, COALESCE(target_id, 0) AS target_id, new_value FROM audit_events WHERE action = ?", action)
	by := map[int64]int64{}
	for _, row := range rows {
		of := struct{ Version int64 }{row.TargetID}
		_ = json.Unmarshal(row.NewValue, &of) // a sweep has no value
		by[of.Version] = row.ActorID
	}
	return by, err
}

// ofPeople are the tables with rows of one person, and the column that says whose. The row
// of users goes last. A guard of login_guards is the ID of an account, or a keyed hash.
var ofPeople = [][2]string{
	{"known_places", "user_id"}, {"login_guards", "guard"}, {"password_resets", "user_id"}, {"password_resets", "issued_by"},
	{"user_slots", "user_id"}, {"service_keys", "user_id"}, {"user_names", "user_id"}, {usersTable, "id"},
}

// Purge deletes the rows of a user who was deleted before that time, and writes the event,
// all or nothing. Where there is no such user it does nothing, so that several instances
// may call it at once.
func (u *Users) Purge(ctx context.Context, id idworker.ID, before time.Time, e audit.Event) error {
	err := u.DB.write(ctx, func(tx *gorm.DB) error {
		if _, err := first[int64](tx, errAlready, "SELECT id FROM users WHERE id = ? AND deleted_at < ?"+u.DB.d.forRead, int64(id), before.UnixMilli()); err != nil {
			return err
		}
		for _, of := range ofPeople {
			if err := tx.Exec("DELETE FROM "+of[0]+" WHERE "+of[1]+" = ?", int64(id)).Error; err != nil {
				return err
			}
		}
		return nil
	}, e)
	return failed("purge user", err)
}
