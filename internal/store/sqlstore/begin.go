package sqlstore

import (
	"cmp"
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

// Begin begins a session. It ends those for which the policy in force leaves no room. It reads
// the policy with the user's row locked, so a login finds all that came before it. An ID must be
// greater than all earlier ones of its user: so these IDs grow in the order of the logins,
// whichever instance and clock they come from. Begin fails, and begins nothing, with
// [*session.IDError], [*session.LimitError], [account.ErrNotFound], [account.ErrDisabled],
// [account.ErrStale], [session.ErrMoved], [session.ErrDeletionAsked], [session.ErrRequestOver] and
// ErrRequestReused; an impersonation also with [session.ErrNotUser], [session.ErrManyActs] and
// [*policy.OlderInstanceError]; with a Record it also fails as [DB.authorize] does.
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
		if err := s.readyForActs(ctx, &o); err != nil {
			return begun, err
		}
	}
	err = s.DB.retry(ctx, func() error {
		start = time.Now()
		err := s.DB.transaction(s.DB.gorm.WithContext(ctx), func(tx *gorm.DB) (err error) {
			may := permit{tx: tx}
			if o.Act != 0 {
				err = s.holdActor(tx, o.Act)
			}
			if err == nil && o.Record != nil { // the right comes first, before the row of the user is locked
				may, err = s.DB.authorize(tx, o.Record.By, o.Record.Need)
			}
			if err == nil && o.Act != 0 {
				err = s.fewActs(tx, &o)
			}
			if err == nil {
				begun, err = s.begin(tx, o)
			}
			if err == nil && o.Place.Issued != nil {
				err = s.keepRequest(tx, &o, begun.Repeats)
			}
			if err == nil && o.Record != nil {
				err = recordBegun(may, &o, begun)
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

// recordBegun writes the event of a session that has begun.
func recordBegun(may permit, o *session.Opening, begun session.Begun) error {
	e, err := o.Event(begun)
	if err != nil {
		return err
	}
	return may.record(e)
}

func (s *Sessions) begin(tx *gorm.DB, o session.Opening) (session.Begun, error) {
	asOf := s.now()
	row, err := s.beginner(tx, &o)
	if err != nil {
		return session.Begun{}, err
	}
	// Read apart: a locking read could lock the settings for all logins.
	rows, now, err := s.rowsOf(tx, row)
	if err != nil {
		return session.Begun{}, err
	}
	var repeats idworker.ID
	if o.Place.Issued != nil {
		if repeats, err = s.opened(tx, &o, held(rows, asOf), now); err != nil {
			return session.Begun{}, err
		}
		o.Place.Instead = cmp.Or(repeats, o.Place.Instead)
	}
	replaced, slot, err := room(rows, now, o, asOf)
	if err != nil {
		return session.Begun{}, err
	}
	begun := session.Begun{Replaced: replaced, DeletionCancelled: o.Act == 0 && row.DeletionAskedAt.Valid, Repeats: repeats, NewDevice: !o.Place.Known && session.IsNew(lastDevices(rows), o.Device)}
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
	begun.Session.Auth = o.Place.Issued.How()
	return begun, nil
}

// beginner is the row of the user of a session that is to begin, which it locks. The login of
// a user who has asked for a deletion cancels that; an admin who acts for the user does not.
func (s *Sessions) beginner(tx *gorm.DB, o *session.Opening) (tokenRow, error) {
	row, err := one(tx, "SELECT "+tokenColumns+", deletion_asked_at FROM users WHERE id = ? AND "+notDeleted+s.DB.d.forRead, int64(o.UserID))
	switch {
	case errors.Is(err, session.ErrNotFound):
		err = account.ErrNotFound
	case err != nil:
	case row.DisabledAt.Valid:
		err = account.ErrDisabled
	case o.Act != 0:
		if row.Role != string(account.RoleUser) {
			err = session.ErrNotUser
		}
	case row.PasswordVersion != o.PasswordVersion:
		err = account.ErrStale
	case row.DeletionAskedAt.Valid:
		err = s.cancelDeletion(tx, *o, row.Username)
	}
	return row, err
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
	if o.Place.Last != 0 {
		if _, _, full := session.Room(held(rows, asOf), rule, o.Device, 0, over); !full {
			return nil, 0, session.ErrMoved
		}
	}
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
	values = append(append(values, authArgs(&o)...), int64(o.ID))
	proved, at := s.DB.d.provedAt(&o, rows[0].Role)
	values = append(values, at...)
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
			"auth_token_id, auth_method, auth_time, token_proved_id, token_proved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "+proved+")",
			append([]any{int64(o.ID), int64(o.UserID), int64(slot)}, values...)...).Error
	}
	stamp := ", " + s.DB.d.stampNow()
	if row.TokenID.Valid {
		stamp = "" // the end has it
	}
	return found(tx.Exec("UPDATE "+row.table()+" SET token_id = ?, token_hash = ?, token_seen_at = ?, "+setDevice+", "+setAuth+", token_proved_id = ?, token_proved_at = "+proved+stamp+" WHERE "+unmoved,
		append(values, row.RowID, 0)...), errMoved)
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
