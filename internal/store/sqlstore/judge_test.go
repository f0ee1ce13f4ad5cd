package sqlstore

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// While a change of the policy is under way, only what is at or below a base is
// over for good: the policy that comes may be longer, and its bases are no lower.
func TestWhatAChangeMaySaveIsNotCertain(t *testing.T) {
	const hour = int64(time.Hour / time.Millisecond)
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	ago := func(hours int64) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	for _, c := range []struct {
		issued, seen int64 // hours ago
		why          session.Reason
		certain      bool // during a change
	}{
		{1, 1, "", true},
		{9, 1, "", true},
		{10, 1, session.Expired, false},
		{19, 1, session.Expired, false},
		{20, 1, session.Expired, true}, // at the base
		{9, 2, session.Idle, false},
		{9, 3, session.Idle, false},
		{9, 4, session.Idle, true},
	} {
		for _, steady := range []bool{true, false} {
			r := &ruleRow{Now: now.UnixMilli(), steady: steady, Rule: settingsRow{
				IdleTimeoutMs: 2 * hour, AbsoluteLifetimeMs: 10 * hour, TouchIntervalMs: 1000,
				IdleBase: ago(4).UnixMilli(), AbsoluteBase: ago(20).UnixMilli(),
			}}
			why, certain := r.judge(&session.Session{ID: layout.Smallest(ago(c.issued)), Seen: ago(c.seen)})
			if why != c.why || certain != (c.certain || steady) {
				t.Errorf("issued %d hours ago, seen %d, steady %v: %q, certain %v", c.issued, c.seen, steady, why, certain)
			}
		}
	}
}

// SetReadOnly makes every read say that of its server.
func (db *DB) SetReadOnly(says string) {
	db.d.readOnly = says
	db.lookups = [2][2]lookup{}
	db.prepareLookups(nil)
}

// SetReplaced makes the server of a SQLite database one that another may have replaced, and that takes no
// commit by which it could show that it was not: the statement is of MySQL.
func (db *DB) SetReplaced() {
	db.from = new(connector)
	db.from.server.Store(&server{})
	db.from.replaceable.Store(true)
}
