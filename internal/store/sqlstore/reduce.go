package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// A policy that allows fewer sessions a user than before ends those that are too many.
// Which they are depends on all sessions of the user, and changes as they are used. So it
// is decided once, with the row of the user locked, and written: a session that was
// refused for it does not come back when another one ends. The first read of a session of
// such a user decides, and after it the sweep for all whom nobody has asked about.

// withinLimit reduces the sessions of a user who has more than are allowed. id is one of these
// sessions. Where there cannot be further slots it asks nothing: see [DB.tables].
func (s *Sessions) withinLimit(ctx context.Context, id idworker.ID) error {
	if !s.DB.further.Load() {
		return nil
	}
	row, ended, err := s.DB.findLogin(s.DB.gorm.WithContext(ctx), id)
	if err != nil || ended || !row.excess() {
		return nil //nolint:nilerr // the caller asks again, and says what is wrong
	}
	_, err = s.reduce(ctx, idworker.ID(row.UserID))
	return err
}

// reduce ends the sessions of a user that are too many by the policy in force. Feeds carry
// each end. It returns how many ended.
func (s *Sessions) reduce(ctx context.Context, user idworker.ID) (ended int, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var start time.Time
	var ends []session.Session
	for events := map[idworker.ID]audit.Event(nil); ; {
		err = s.DB.transact(ctx, func(tx *gorm.DB) (err error) {
			start = time.Now()
			ends, err = s.reduceIn(tx, int64(user), events)
			return err
		})
		if !errors.Is(err, errUnrecorded) {
			break
		}
		if events, err = s.DB.eventsOf(ctx, ends); err != nil {
			return 0, err
		}
	}
	switch {
	case errors.Is(err, session.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return len(ends), s.restamp(ctx, int64(user), start)
}

// reduceIn is reduce in a transaction, with the events of what ends. It returns what ended, or
// what is to end with [errUnrecorded].
func (s *Sessions) reduceIn(tx *gorm.DB, user int64, events map[idworker.ID]audit.Event) ([]session.Session, error) {
	row, err := one(tx, "SELECT "+tokenColumns+" FROM users WHERE id = ?"+s.DB.d.forRead, user)
	if err != nil {
		return nil, err
	}
	asOf := s.now()
	rows, now, err := s.rowsOf(tx, row)
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 {
		return nil, nil
	}
	if err := s.DB.lockUser(tx, idworker.ID(user)); err != nil {
		return nil, err
	}
	rule := now.policy()
	ends := session.Excess(held(rows, asOf), &rule, overBy(now))
	record, err := s.DB.overLimitOf(ends, events)
	if err != nil {
		return ends, err
	}
	for i := range ends {
		if err := s.end(tx, *inSlot(rows, ends[i].Slot), session.OverLimit); err != nil {
			return nil, err
		}
	}
	return ends, insertEvents(tx, record)
}

// slowLogin is longer than a login takes from its read of the policy to its commit, also if
// that hangs.
const slowLogin = time.Minute

// Reduce implements [sweep.Store]. What it asks first takes no longer than tau, and so does each
// user.
func (s *Sweeps) Reduce(ctx context.Context, from sweep.Walk, rows int) (walk sweep.Walk, ended int, err error) {
	if !s.DB.further.Load() {
		return sweep.Walk{Done: true}, 0, nil
	}
	walk, many, last, err := s.ahead(ctx, from, rows)
	if err == nil && !walk.Done {
		walk, ended, err = s.reduceEach(ctx, walk, many, last)
	}
	return walk, ended, failed("sweep", err)
}

// ahead are the next users of a walk who have too many sessions, up to the user last; or
// the walk is done.
func (s *Sweeps) ahead(ctx context.Context, from sweep.Walk, rows int) (walk sweep.Walk, many []int64, last int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	rule, pending, err := s.DB.limits(ctx)
	switch {
	case err != nil:
		return from, nil, 0, err
	case !pending:
		return sweep.Walk{Done: true}, nil, 0, nil
	case rule.Version != from.Version:
		now, err := s.DB.Clock(ctx)
		if err != nil {
			return from, nil, 0, err
		}
		from = sweep.Walk{Version: rule.Version, Whole: now.Sub(rule.UpdatedAt) >= slowLogin}
	}
	var users []int64 // one for each row, also of those who have not too many
	err = s.DB.query(ctx, &users, "SELECT user_id FROM user_slots WHERE user_id > ? ORDER BY user_id LIMIT ?", int64(from.After), rows)
	if err != nil {
		return from, nil, 0, err
	}
	if len(users) == 0 {
		// Only if the same policy is in force still: another one may have lowered the limit
		// once more. And not if the search began soon after the change: a login that was decided
		// by the policy of before, and whose commit hung, may have come after it passed its user.
		if from.Done = true; !from.Whole {
			return from, nil, 0, nil
		}
		return from, nil, 0, s.DB.exec(ctx, "UPDATE settings SET reduced_to = max_sessions WHERE scope = 'global' AND version = ?", from.Version)
	}
	last = users[len(users)-1]
	many, err = s.DB.tooMany(ctx, &rule, "user_id > ? AND user_id <= ?", []any{int64(from.After), last})
	slices.Sort(many)
	return from, many, last, err
}

// reduceEach reduces the sessions of those users, of a walk that is then past the user last,
// or of as many as there is time for. Each is a change of its own, and is not lost if a later
// one fails.
func (s *Sweeps) reduceEach(ctx context.Context, walk sweep.Walk, many []int64, last int64) (_ sweep.Walk, ended int, err error) {
	began, sessions := time.Now(), Sessions{DB: s.DB}
	for i, user := range many {
		if i > 0 && time.Since(began) > s.DB.hurry {
			return walk, ended, nil
		}
		n, err := sessions.reduce(ctx, idworker.ID(user))
		ended += n
		switch {
		case err == nil:
			walk.After = idworker.ID(user)
		case ctx.Err() == nil && (ofRow(err) || errors.Is(err, context.DeadlineExceeded)): // also if somebody holds the row
			walk.After, walk.Whole = idworker.ID(user), false
			return walk, ended, fmt.Errorf("%w: %w", sweep.ErrUnclearable, err)
		default:
			return walk, ended, err
		}
	}
	walk.After = idworker.ID(last)
	return walk, ended, nil
}

// limits are the policy in force, and whether users may have more sessions than it allows.
func (db *DB) limits(ctx context.Context) (rule policy.Policy, pending bool, err error) {
	row, err := ask[struct {
		Rule      settingsRow `gorm:"embedded"`
		ReducedTo int
	}](ctx, db, errNoSettings, "SELECT "+settingsColumns+", s.reduced_to"+fromSettings)
	if err == nil {
		err = row.Rule.read()
	}
	if err != nil {
		return rule, false, err
	}
	rule = row.Rule.policy()
	return rule, row.ReducedTo > rule.MaxSessions, nil
}

// reduceThose reduces the sessions of those users of user_slots of whom that is true, and
// returns how many ended.
func (s *Sessions) reduceThose(ctx context.Context, rule *policy.Policy, where string, args ...any) (ended int, err error) {
	many, err := s.DB.tooMany(ctx, rule, where, args)
	if err != nil {
		return 0, err
	}
	for _, user := range many {
		n, err := s.reduce(ctx, idworker.ID(user))
		if err != nil {
			return ended, err
		}
		ended += n
	}
	return ended, nil
}

// tooMany are the users who have more sessions than the policy allows, of all or on one
// class of devices, of those of user_slots of whom that is true.
func (db *DB) tooMany(ctx context.Context, rule *policy.Policy, where string, of []any) (users []int64, err error) {
	query := "SELECT user_id FROM (SELECT user_id, COUNT(token_id) AS n FROM user_slots WHERE token_seen_at > 0 AND (" + where + ") GROUP BY user_id) f " +
		"WHERE n + (SELECT COUNT(token_id) FROM users WHERE users.id = f.user_id) > ?"
	args := append(slices.Clone(of), rule.MaxSessions)
	if rule.LimitsClasses() {
		query += " UNION SELECT user_id FROM (SELECT user_id, class, COUNT(*) AS n FROM (SELECT user_id, token_id, " + classOf + " AS class FROM user_slots WHERE token_seen_at > 0 AND (" + where +
			") UNION ALL SELECT id, token_id, " + classOf + " FROM users WHERE id IN (SELECT user_id FROM user_slots WHERE " + where + ")) h " +
			"WHERE token_id IS NOT NULL GROUP BY user_id, class) t WHERE 1 = 0"
		args = append(append(args, of...), of...)
		for i := range rule.Overrides {
			if o := &rule.Overrides[i]; o.MaxSessions != 0 {
				query += " OR class = ? AND n > ?"
				args = append(args, o.Scope.Class, o.MaxSessions)
			}
		}
	}
	return users, db.query(ctx, &users, query, args...)
}

// classOf is the class of the device of the login that a row has. Without what it says of
// its own login it is that of a client that says nothing.
const classOf = "CASE WHEN device_token_id = token_id AND device_class <> '' THEN device_class ELSE '" + policy.OtherClass + "' END"
