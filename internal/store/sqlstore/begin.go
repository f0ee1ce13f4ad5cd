package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Begin begins a session, and ends those for which it leaves no room: by the policy in
// force, which is read with the user's row locked. So of logins at the same time each
// finds those that came before it. An ID that is not greater than all of its user is
// refused: so the IDs of one user grow in the order of their logins, whichever instance
// and whichever clock they come from. Beside an [*session.IDError] and
// a [*session.LimitError] it fails with [account.ErrNotFound], [account.ErrDisabled],
// [account.ErrStale] or [session.ErrMoved], and begins nothing then. An impersonation fails
// with [session.ErrNotUser], [session.ErrManyActs] and with what the right of its admin is refused for, too.
func (s *Sessions) Begin(ctx context.Context, o session.Opening) (session.Begun, error) {
	begun, err := s.tryBegin(ctx, o)
	if errors.Is(err, errBeyond) {
		// First what a lower limit has ended: otherwise a user who has to choose one session
		// would have to choose it among those as well, and one would not be enough.
		if _, err = s.reduce(ctx, o.UserID); err == nil {
			begun, err = s.tryBegin(ctx, o)
		}
	}
	if err != nil {
		return session.Begun{}, fmt.Errorf("sqlstore: begin: %w", err)
	}
	return begun, nil
}

// errBeyond means that a login was refused for its limit, and that the user has more sessions
// than that without it.
var errBeyond = errors.New("the user has more sessions than are allowed")

func (s *Sessions) tryBegin(ctx context.Context, o session.Opening) (begun session.Begun, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var start time.Time
	if o.Act != 0 {
		if err := s.readyForActs(ctx); err != nil {
			return begun, err
		}
	}
	err = s.DB.retry(ctx, func() error {
		start = time.Now()
		err := s.DB.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
			if o.Act != 0 {
				err = s.mayAct(tx, o) // before the row of the user is locked
			}
			if err != nil {
				return err
			}
			if begun, err = s.begin(tx, o); err == nil {
				err = s.recordBegun(tx, o, begun)
			}
			return err
		})
		if errors.Is(err, gorm.ErrDuplicatedKey) { // two workers have one number: another ID will do
			return &session.IDError{Above: o.ID}
		}
		return err
	})
	if err == nil {
		err = s.restamp(ctx, int64(o.UserID), start)
	}
	return begun, err
}

// recordBegun writes the event of a session that has begun, if there is to be one.
func (s *Sessions) recordBegun(tx *gorm.DB, o session.Opening, begun session.Begun) error {
	if o.Record == nil {
		return nil
	}
	e, err := o.Event(begun)
	if err != nil {
		return err
	}
	may, err := s.DB.authorize(tx, e.By, e.Need)
	if err != nil {
		return err
	}
	return may.record(e)
}

func (s *Sessions) begin(tx *gorm.DB, o session.Opening) (session.Begun, error) {
	asOf := s.now()
	row, err := one(tx, "SELECT "+tokenColumns+" FROM users WHERE id = ?"+s.DB.d.forRead, int64(o.UserID))
	switch {
	case errors.Is(err, session.ErrNotFound):
		return session.Begun{}, account.ErrNotFound
	case err != nil:
		return session.Begun{}, err
	case row.DisabledAt.Valid:
		return session.Begun{}, account.ErrDisabled
	case o.Act != 0 && row.Role != string(account.RoleUser):
		return session.Begun{}, session.ErrNotUser
	case o.Act == 0 && row.PasswordVersion != o.PasswordVersion:
		return session.Begun{}, account.ErrStale
	}
	// Read apart: a locking read could lock the settings for all logins.
	rows, now, err := s.rowsOf(tx, row)
	if err != nil {
		return session.Begun{}, err
	}
	replaced, slot, err := room(rows, now, o, asOf)
	if err != nil {
		return session.Begun{}, err
	}
	begun := session.Begun{Replaced: replaced, NewDevice: !o.Place.Known && session.IsNew(lastDevices(rows), o.Device)}
	// The old logins end before the new one begins, in the same transaction.
	for i := range replaced {
		old := &replaced[i]
		if old.Alive() {
			old.Ended = session.Replaced
		}
		if err := s.end(tx, *inSlot(rows, old.Slot), old.Ended); err != nil {
			return session.Begun{}, err
		}
	}
	seen := o.Seen
	if issued := layout.Time(o.ID); issued.After(seen) {
		seen = issued // no use is before the login was issued
	}
	put := s.put
	if o.Act != 0 {
		put, seen, begun.NewDevice = s.putAct, layout.Time(o.ID), false
	}
	if err := put(tx, o, rows, slot, seen); err != nil {
		return session.Begun{}, err
	}
	if err := s.alone(tx, o.ID); err != nil {
		return session.Begun{}, err
	}
	into := row
	into.Slot = slot
	begun.Session = into.session(int64(o.ID), o.Hash[:], asOf)
	begun.Session.Act, begun.Session.Seen, begun.Session.Device = o.Act, fromMillis(seen.UnixMilli()), o.Device
	return begun, nil
}

// room asks [session.Room] about the sessions of rows by the policy of now. It fails if the
// session cannot have its ID, or if the policy refuses it.
func room(rows []tokenRow, now ruleRow, o session.Opening, asOf time.Time) ([]session.Session, session.Slot, error) {
	var last, own idworker.ID // own is the newest that is no impersonation
	for i := range rows {
		last = max(last, rows[i].highest())
		if rows[i].act() == 0 {
			own = max(own, rows[i].highest())
		}
	}
	switch {
	case o.ID <= last:
		return nil, 0, &session.IDError{Above: last}
	case o.Act != 0:
		return actOf(rows, asOf), session.SlotOfAct, nil
	case o.Place.Last != 0 && o.Place.Last != own:
		return nil, 0, session.ErrMoved
	}
	rule := now.Rule.of
	if rule == nil {
		rule = &policy.Policy{} // one session a user: nothing more was asked
	}
	over := overBy(now)
	ends, slot, full := session.Room(held(rows, asOf), rule, o.Device, o.Place.Instead, over)
	switch {
	case !full:
		return ends, slot, nil
	case len(session.Excess(held(rows, asOf), rule, over)) > 0:
		return nil, 0, errBeyond
	}
	choices := slices.DeleteFunc(held(rows, asOf), func(one session.Session) bool {
		_, _, full := session.Room(held(rows, asOf), rule, o.Device, one.ID, over)
		return full
	})
	newestFirst(choices)
	return nil, 0, &session.LimitError{Choices: choices, Last: own}
}

// put writes a new session into a slot, which is empty.
func (s *Sessions) put(tx *gorm.DB, o session.Opening, rows []tokenRow, slot session.Slot, seen time.Time) error {
	values := append([]any{int64(o.ID), o.Hash[:], seen.UnixMilli()}, deviceArgs(o)...)
	values = append(values, int64(o.ID))
	row := inSlot(rows, slot)
	if slot != 0 {
		// What ends all sessions of a user on another server meanwhile changes the row of
		// the user, and may not know of this slot.
		if err := s.DB.lockUser(tx, o.UserID); err != nil {
			return err
		}
	}
	if row == nil {
		return tx.Exec("INSERT INTO user_slots (id, user_id, slot, token_id, token_hash, token_seen_at, device_token_id, device_class, device_name, device_key, "+
			"token_proved_id, token_proved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "+s.DB.d.now+")",
			append([]any{int64(o.ID), int64(o.UserID), int64(slot)}, values...)...).Error
	}
	stamp := ", " + s.DB.d.stampNow()
	if row.TokenID.Valid {
		stamp = "" // the end has it
	}
	done := tx.Exec("UPDATE "+row.table()+" SET token_id = ?, token_hash = ?, token_seen_at = ?, "+setDevice+", "+s.DB.d.provedNow()+stamp+" WHERE "+unmoved,
		append(values, row.RowID, 0)...)
	if done.Error == nil && done.RowsAffected != 1 {
		return errMoved
	}
	return done.Error
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

// setDevice writes the device of a login. It names the login: a release that does not
// know the columns leaves there what the user's last login on this release has said.
const setDevice = "device_token_id = ?, device_class = ?, device_name = ?, device_key = ?"

func deviceArgs(o session.Opening) []any {
	if o.Device == nil {
		return []any{nil, nil, nil, nil}
	}
	var key any
	if o.Device.Key != "" {
		key = []byte(o.Device.Key)
	}
	return []any{int64(o.ID), o.Device.Class, o.Device.Name, key}
}

// provedNow says of the login that a statement writes or names that password and
// code were shown in it just now.
func (d *dialect) provedNow() string { return "token_proved_id = ?, token_proved_at = " + d.now }
