package sqlstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// A ruleRow is the policy in force, with what is read in the same statement.
type ruleRow struct {
	Rule        settingsRow `gorm:"embedded"`
	GlobalFloor int64
	Now         int64 // by the clock of the database
	Server      string
	ReadOnly    bool

	// steady means that no change of the policy was under way.
	steady bool
}

func (r *ruleRow) policy() policy.Policy { return r.Rule.policy() }

// within is those of the marks that the policy in force allows.
func (r *ruleRow) within(m sweep.Marks) sweep.Marks {
	rule, now := r.policy(), fromMillis(r.Now)
	most := sweep.MarksOf(rule.OldestIssued(now), rule.OldestSeen(now), idworker.ID(r.GlobalFloor))
	m.Issued, m.Floor = min(m.Issued, most.Issued), min(m.Floor, most.Floor)
	if most.Seen.Before(m.Seen) {
		m.Seen = most.Seen
	}
	return m
}

// judge says whether the policy has ended a login, and why. While a change of the
// policy is under way that may save the login, that is not certain.
func (r *ruleRow) judge(issued, seen time.Time) (why session.Reason, certain bool) {
	rule, now := r.policy(), fromMillis(r.Now)
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

// use is the time of last use of a login that is used then and whose row says
// seen: none is later than now, and those within the touch interval are not
// worth a write. The zero time is no use.
func (r *ruleRow) use(seen, used time.Time) time.Time {
	if now := fromMillis(r.Now); used.After(now) {
		used = now
	}
	if used.Sub(seen) < r.policy().Touch {
		return seen
	}
	return fromMillis(used.UnixMilli())
}

// ruleQuery reads the policy, but for its limits, which judge no login.
func (db *DB) ruleQuery(also string) string {
	return "SELECT " + settingsColumns + also + ", s.global_floor, " + db.d.now + " AS now, " + db.d.server + " AS server, " +
		db.d.readOnly + " AS read_only" + fromSettings
}

func scanRules(on *gorm.DB, query string) (ruleRow, error) {
	var rows []ruleRow
	if err := on.Raw(query).Scan(&rows).Error; err != nil {
		return ruleRow{}, err
	}
	switch {
	case len(rows) == 0:
		return ruleRow{}, errNoSettings
	case rows[0].ReadOnly:
		return ruleRow{}, errReadOnly
	}
	return rows[0], nil
}

// rulesNow reads the policy in a transaction, and keeps it as it is until that ends.
// It waits for nobody: if a change is under way, it is the policy of before, and not
// steady.
func (db *DB) rulesNow(tx *gorm.DB, also string) (ruleRow, error) {
	r, err := scanRules(tx, db.ruleQuery(also)+db.d.shareNow)
	if err != nil && lockedNow(err) {
		return scanRules(tx, db.ruleQuery(also))
	}
	r.steady = err == nil
	return r, err
}

// rules is rulesNow without a transaction, with the limits, on a connection that
// nobody else has. In SQLite only the one who may write knows that nobody else does:
// if that is not the case at once, it is not steady.
func (db *DB) rules(ctx context.Context, conn *gorm.DB) (ruleRow, error) {
	if db.turn == nil {
		return db.rulesNow(conn, limitsColumn)
	}
	select {
	case db.turn <- struct{}{}:
		defer func() { <-db.turn }()
	default:
		return scanRules(conn, db.ruleQuery(limitsColumn))
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
		return scanRules(conn, db.ruleQuery(limitsColumn))
	}
	return r, err
}
