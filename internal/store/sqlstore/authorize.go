package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A permit says that the actor was found, in this transaction, to have what the
// change needs. Events are written by it, and a change that forgets to ask for one
// cannot write its event.
type permit struct {
	tx   *gorm.DB
	by   audit.Actor
	need audit.Need
}

// clockSlack is how far a proof may seem to lie in the future: the servers of a
// cluster need not agree on the time to the millisecond.
const clockSlack = 5 * time.Second

var errUnstated = errors.New("sqlstore: a change that does not state its actor and what the actor needs")

// authorize is the first thing that a transaction does which changes something for
// an actor. It locks the row of the actor until the transaction ends, so that
// the login, the role and the account are as it finds them when the change is
// committed: after an end is acknowledged nothing is changed by that login,
// whatever an instance still remembers of it.
//
// It fails with a [*session.RefusedError] for a login that has ended, [audit.ErrImpersonated],
// [audit.ErrRole] or [audit.ErrUnproven].
func (db *DB) authorize(tx *gorm.DB, by audit.Actor, need audit.Need) (permit, error) {
	p := permit{tx, by, need}
	switch {
	case need == audit.NeedsNothing || by.Inside():
		return p, nil
	case by.Key != 0:
		return db.authorizeKey(tx, by, need, byKey[need])
	case !need.Said() || need == audit.NeedsIssuer || by.ID == 0 || by.Session == 0:
		return permit{}, errUnstated
	}
	row, err := db.actor(tx, by)
	if err == nil {
		err = row.may(by.Session, need)
	}
	if err != nil {
		err = session.Whose(&session.Session{ID: by.Session, UserID: by.ID, Username: by.Name, Role: row.Row.Role}, err)
		return permit{}, fmt.Errorf("sqlstore: authorize: %w", err)
	}
	if row.Row.Slot != 0 {
		if err := db.lockRow(tx, slotsTable, row.Row.RowID); err != nil {
			return permit{}, err
		}
	}
	return p, db.lockUser(tx, by.ID)
}

// Authorize checks, in a transaction of its own, what the transaction of a change
// checks first, and with the same errors: for what has found nothing to change.
func (u *Users) Authorize(ctx context.Context, by audit.Actor, need audit.Need) error {
	if need == audit.NeedsNothing || by.Inside() {
		return nil
	}
	return u.DB.transact(ctx, func(tx *gorm.DB) error {
		if _, err := u.DB.authorize(tx, by, need); err != nil {
			return err
		}
		return u.DB.decided(tx, nil)
	})
}

// authorizeAll is authorize for what writes several events of one actor, who needs
// the most that any of them asks for.
func (db *DB) authorizeAll(tx *gorm.DB, events []audit.Event) (permit, error) {
	if len(events) == 0 {
		return permit{tx: tx}, nil
	}
	need := events[0].Need
	for _, e := range events[1:] {
		if need.Said() && e.Need.Said() {
			need = max(need, e.Need)
		} else {
			need = 0
		}
	}
	return db.authorize(tx, events[0].By, need)
}

// record writes events in the transaction of the change that they report. It refuses
// one by another actor than the permit is for, or that needs more.
func (p permit) record(events ...audit.Event) error {
	for _, e := range events {
		if e.Need != audit.NeedsNothing && (!e.Need.Said() && !e.By.Inside() || !p.need.Includes(e.Need) ||
			e.By.ID != p.by.ID || e.By.Session != p.by.Session || e.By.Key != p.by.Key) {
			return errUnstated
		}
	}
	return insertEvents(p.tx, events)
}

// transact runs f in one transaction, for at most tau, and again after a race that
// it lost and may win the next time.
func (db *DB) transact(ctx context.Context, f func(tx *gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return db.retry(ctx, func() error { return db.transaction(db.gorm.WithContext(ctx), f) })
}

// transaction runs f in one transaction. What f refuses counts only as decided and certain say.
func (db *DB) transaction(on *gorm.DB, f func(tx *gorm.DB) error) error {
	once := func(on *gorm.DB) error {
		return on.Transaction(func(tx *gorm.DB) error {
			if err := f(tx); err != nil {
				return db.decided(tx, err)
			}
			return nil
		})
	}
	if !db.Replaceable() {
		return once(on)
	}
	return on.Connection(func(conn *gorm.DB) error {
		conn = conn.Session(&gorm.Session{NewDB: true})
		return db.certain(conn, once(conn))
	})
}

// certain is err, a refusal on that connection, outside of a transaction. Where another server may have replaced the
// one that answers, reads do not show that, and the refusal counts only if the same server commits a change after it.
func (db *DB) certain(conn *gorm.DB, err error) error {
	if err == nil || !db.Replaceable() || lost(err) || errors.Is(err, ErrReadOnly) {
		return err
	}
	if failed := db.retry(conn.Statement.Context, func() error { return db.shows(conn) }); failed != nil {
		return fmt.Errorf("%w, after: %v", failed, err) //nolint:errorlint // as in decided
	}
	return err
}

// decided is what a transaction ends with that writes nothing, a refusal or nil, unless the server takes no writes
// (a write would have failed there). It may have been the primary once, and has not heard of what was
// acknowledged since: then it is [ErrReadOnly]. It asks after f has read: if the server takes writes
// still, no other had its place before.
func (db *DB) decided(tx *gorm.DB, err error) error {
	if lost(err) || errors.Is(err, ErrReadOnly) {
		return err
	}
	readOnly, failed := first[bool](tx, errNoSettings, "SELECT "+db.d.readOnly)
	switch {
	case readOnly:
		return db.demoted(ErrReadOnly)
	case failed == nil && err == nil:
		return db.shows(tx) // and is committed with it
	case failed == nil:
		return err
	case tx.Statement.Context.Err() != nil:
		failed = tx.Statement.Context.Err()
	}
	return fmt.Errorf("%w, after: %v", failed, err) //nolint:errorlint // a refusal that is not certain is none
}

// write makes a change in one transaction with its events, as recorded does.
func (db *DB) write(ctx context.Context, change func(tx *gorm.DB) error, events ...audit.Event) error {
	return db.transact(ctx, func(tx *gorm.DB) error { return db.recorded(tx, change, events...) })
}

// recorded makes a change with its events, after authorize. A change that returns
// errAlready was none, and has no event.
func (db *DB) recorded(tx *gorm.DB, change func(tx *gorm.DB) error, events ...audit.Event) error {
	may, err := db.authorizeAll(tx, events)
	if err == nil {
		err = change(tx)
	}
	if errors.Is(err, errAlready) {
		return db.decided(tx, nil)
	}
	if err != nil {
		return err
	}
	return may.record(events...)
}

// An actorRow is the row of the actor.
type actorRow struct {
	Row           tokenRow `gorm:"embedded"`
	TokenProvedID sql.NullInt64
	TokenProvedAt sql.NullInt64
	Now           int64 // by the clock of the database
}

// actor reads the row of the actor's login and the global floor, and keeps both as they
// are until the transaction ends; the row of the user, too, whose role counts. The settings come before any row of a user, here as where an
// admin is lost: the other way round a client with many requests at a time could
// keep others from being served, by one deadlock after the other.
func (db *DB) actor(tx *gorm.DB, by audit.Actor) (actorRow, error) {
	floor, err := db.floor(tx, db.d.forShare)
	if err != nil {
		return actorRow{}, err
	}
	row, err := db.actorAt(tx, usersTable, "id = ?", int64(by.ID))
	if err == nil && db.further.Load() && !row.holds(by.Session) {
		further, missing := db.actorAt(tx, slotsTable, "user_id = ? AND (token_id = ? OR ended_token_id = ?)", int64(by.ID), int64(by.Session), int64(by.Session))
		switch {
		case missing == nil:
			row = further
		case !errors.Is(missing, session.ErrNotFound):
			err = missing
		}
	}
	if errors.Is(err, session.ErrNotFound) {
		return actorRow{}, session.RefusalOf(session.Revoked)
	}
	row.Row.GlobalFloor = floor
	return row, err
}

func (db *DB) actorAt(tx *gorm.DB, table, where string, args ...any) (actorRow, error) {
	return first[actorRow](tx, session.ErrNotFound,
		"SELECT "+columns(table)+", token_proved_id, token_proved_at, "+db.d.now+" AS now FROM "+table+" WHERE "+where+db.d.forShare, args...)
}

// holds reports whether the row has that login, or had it last.
func (r *actorRow) holds(login idworker.ID) bool {
	return login == idworker.ID(r.Row.TokenID.Int64) || login == idworker.ID(r.Row.EndedTokenID.Int64)
}

// may returns nil if the login with that ID, of this row, has what is needed.
func (r *actorRow) may(login idworker.ID, need audit.Need) error {
	switch login {
	case idworker.ID(r.Row.TokenID.Int64):
		if s := r.Row.current(time.Time{}); !s.Alive() {
			return session.RefusalOf(s.Ended)
		}
	case idworker.ID(r.Row.EndedTokenID.Int64):
		return session.RefusalOf(r.Row.ended(time.Time{}).Ended)
	default:
		return session.RefusalOf(session.Replaced) // by one that has ended since, or not
	}
	switch {
	case r.Row.act() != 0:
		return audit.ErrImpersonated
	case need >= audit.NeedsAdmin && r.Row.Role != string(account.RoleAdmin),
		need == audit.NeedsService && r.Row.Role != string(account.RoleAdmin) && r.Row.Role != string(account.RoleService):
		return audit.ErrRole
	case need.Includes(audit.NeedsOwnProof) && !r.proven():
		return audit.ErrUnproven
	}
	return nil
}

// proven reports whether password and code were shown in the login that the row
// has, not long ago. A login begun by a release that knows no proofs leaves the
// proof of the login before, which does not count for it.
func (r *actorRow) proven() bool {
	age := time.Duration(r.Now-r.TokenProvedAt.Int64) * time.Millisecond
	return r.TokenProvedAt.Valid && r.TokenProvedID == r.Row.TokenID && age <= audit.ProofLife && age >= -clockSlack
}
