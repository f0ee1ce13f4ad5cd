package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// A ruleRow is the policy in force, with what is read in the same statement.
type ruleRow struct {
	Rule        settingsRow `gorm:"embedded"`
	GlobalFloor int64
	Slots       int   // see tokenRow
	Now         int64 // by the clock of the database
	Server      string
	ReadOnly    bool

	// steady means that no change of the policy was under way.
	steady bool
}

func (r *ruleRow) policy() policy.Policy {
	p := r.Rule.policy()
	p.Further = p.Further || r.Slots > 0
	return p
}

// within is those of the marks that the policy in force allows, or false if they are those
// of a part of another policy.
func (r *ruleRow) within(m sweep.Marks) (sweep.Marks, bool) {
	rule, now := r.policy(), fromMillis(r.Now)
	issued, seen := rule.Longest(now)
	if m.Part != nil {
		if m.Version != rule.Version {
			return m, false
		}
		of := rule.For(m.Part.Class, m.Part.Role)
		issued, seen = of.OldestIssued(now), of.OldestSeen(now)
	}
	most := sweep.MarksOf(issued, seen, idworker.ID(r.GlobalFloor))
	m.Issued, m.Floor = min(m.Issued, most.Issued), min(m.Floor, most.Floor)
	if most.Seen.Before(m.Seen) {
		m.Seen = most.Seen
	}
	return m, true
}

// judge says whether the policy has ended a login, and why. While a change of the
// policy is under way that may save the login, that is not certain.
func (r *ruleRow) judge(s *session.Session) (why session.Reason, certain bool) {
	rule, now := r.expiry(s), fromMillis(r.Now)
	issued, seen := layout.Time(s.ID), s.Seen
	expired, idle := rule.Expired(issued, now), rule.Idled(seen, now)
	switch {
	case expired && (r.steady || !issued.After(rule.AbsoluteBase)):
		return session.Expired, true
	case idle && (r.steady || !seen.After(rule.IdleBase)):
		return session.Idle, true
	case expired:
		return session.Expired, false
	case idle:
		return session.Idle, false
	}
	return "", true
}

// expiry is what the policy makes of a login.
func (r *ruleRow) expiry(s *session.Session) policy.Expiry {
	p := r.policy()
	return s.Expiry(&p)
}

// use is the time of last use of a login that is used then and whose row says
// seen: none is later than now, and those within the touch interval are not
// worth a write. The zero time is no use.
func (r *ruleRow) use(s *session.Session, used time.Time) time.Time {
	if now := fromMillis(r.Now); used.After(now) {
		used = now
	}
	if used.Sub(s.Seen) < r.expiry(s).Touch {
		return s.Seen
	}
	return fromMillis(used.UnixMilli())
}

// ruleQuery reads the policy, but for its limits, which judge no login.
func (db *DB) ruleQuery(also string) string {
	return "SELECT " + settingsColumns + also + ", s.global_floor, s.slots, " + db.d.now + " AS now, " + db.d.server + " AS server, " +
		db.d.readOnly + " AS read_only" + fromSettings
}

func (db *DB) scanRules(on *gorm.DB, query string) (ruleRow, error) {
	row, err := first[ruleRow](on, errNoSettings, query)
	switch {
	case err != nil:
		return ruleRow{}, err
	case row.ReadOnly:
		return ruleRow{}, ErrReadOnly
	}
	db.allows(row.Slots)
	err = row.Rule.read()
	return row, err
}

// rulesNow reads the policy in a transaction, and keeps it as it is until that ends.
// It never waits: if a change is under way, it is the policy of before, and not
// steady.
func (db *DB) rulesNow(tx *gorm.DB, also string) (ruleRow, error) {
	r, err := db.scanRules(tx, db.ruleQuery(also)+db.d.shareNow)
	if err != nil && lockedNow(err) {
		return db.scanRules(tx, db.ruleQuery(also))
	}
	r.steady = err == nil
	return r, err
}

// rules is rulesNow without a transaction, with the limits, on a connection of its
// own. In SQLite only the writer knows that there is no other: if it cannot be the
// writer at once, the policy is not steady.
func (db *DB) rules(ctx context.Context, conn *gorm.DB) (ruleRow, error) {
	if db.turn == nil {
		return db.rulesNow(conn, limitsColumn)
	}
	select {
	case db.turn <- struct{}{}:
		defer func() { <-db.turn }()
	default:
		return db.scanRules(conn, db.ruleQuery(limitsColumn))
	}
	// The end of a context does not end a wait for another process.
	if err := conn.Exec("PRAGMA busy_timeout = 0").Error; err != nil {
		return ruleRow{}, err
	}
	var r ruleRow
	err := conn.Transaction(func(tx *gorm.DB) (err error) {
		r, err = db.rulesNow(tx, limitsColumn)
		return err
	})
	restore := conn.WithContext(context.WithoutCancel(ctx))
	if failed := restore.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", busyWait.Milliseconds())).Error; failed != nil {
		return ruleRow{}, failed
	}
	if busy(err) {
		return db.scanRules(conn, db.ruleQuery(limitsColumn))
	}
	return r, err
}

// Prove notes that the actor of e has shown the password of that version, and the
// second factor if there is one, in the login by which they act, and writes e in
// the same transaction. It returns [account.ErrStale] if the password is another
// by now, and the refusal of a login that has ended.
func (s *Sessions) Prove(ctx context.Context, version int64, e audit.Event) error {
	err := s.DB.write(ctx, func(tx *gorm.DB) error {
		user, login := int64(e.By.ID), int64(e.By.Session)
		done := tx.Exec("UPDATE users SET "+s.DB.d.provedNow()+" WHERE "+unmoved+" AND password_version = ?", login, user, login, version)
		if done.Error == nil && done.RowsAffected != 1 {
			return s.proveFurther(tx, user, login, version)
		}
		return done.Error
	}, e)
	return failed("prove", err)
}

// proveFurther is the change of Prove for a login in a further slot.
func (s *Sessions) proveFurther(tx *gorm.DB, user, login, version int64) error {
	if !s.DB.further.Load() {
		return account.ErrStale
	}
	row, err := one(tx, "SELECT "+slotColumns+" FROM user_slots WHERE user_id = ? AND token_id = ?", user, login)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return account.ErrStale
	case err != nil:
		return err
	case row.PasswordVersion != version: // the actor's row is held: it stays as it is
		return account.ErrStale
	}
	return found(tx.Exec("UPDATE user_slots SET "+s.DB.d.provedNow()+" WHERE "+unmoved, login, row.RowID, login), account.ErrStale)
}

// readLimits reads the limits of a policy. What cannot be read never means that
// there are none: the default ones come with the error.
func readLimits(text []byte) (limit.Limits, error) {
	if len(text) == 0 {
		return limit.Default(), nil
	}
	l, err := limit.Decode(text)
	if err != nil {
		return limit.Default(), fmt.Errorf("sqlstore: %w", err)
	}
	return l, nil
}

// writeLimits is l as it is kept: nil for the default ones, so that a deployment
// that has never changed them gets those of a later version. Both ends refuse what
// cannot be in force.
func writeLimits(l *limit.Limits) ([]byte, error) {
	if *l == limit.Default() {
		return nil, nil
	}
	text, err := limit.Encode(l)
	if err != nil {
		return nil, err
	}
	if _, err := limit.Decode(text); err != nil {
		return nil, err
	}
	return text, nil
}
