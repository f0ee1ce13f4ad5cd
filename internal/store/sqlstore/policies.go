package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// SetPolicy replaces the policy of that version by next, and writes the event,
// or returns [policy.ErrVersion] and changes nothing. Only the times, the
// schedule, the sessions, the overrides, the limits, the author and the note of next count: the
// bases are raised here, by the database's clock, to the watermarks of the policy that was in
// force. It returns the new policy, also if another has followed it.
func (s *Settings) SetPolicy(ctx context.Context, version int64, next policy.Policy, e audit.Event) (set policy.Policy, err error) {
	err = s.DB.transact(ctx, func(tx *gorm.DB) error {
		// Locked before the bases are computed: the clock of a statement is that of its
		// start. A base from before a wait could be older than what a poll has proven
		// meanwhile, and logins would be accepted that an instance has refused for good.
		if err := s.DB.lockSettings(tx); err != nil {
			return err
		}
		return s.DB.recorded(tx, func(tx *gorm.DB) (err error) {
			if err = s.setPolicy(tx, version, next); err != nil {
				return err
			}
			row, err := s.DB.scanRules(tx, s.DB.ruleQuery(limitsColumn))
			set = row.policy()
			return err
		}, e)
	})
	if err != nil {
		return policy.Policy{}, fmt.Errorf("sqlstore: set policy: %w", err)
	}
	return set, nil
}

func (s *Settings) setPolicy(tx *gorm.DB, version int64, next policy.Policy) error {
	limits, err := writeLimits(&next.Limits)
	if err != nil {
		return err
	}
	row, err := s.DB.scanRules(tx, s.DB.ruleQuery(""))
	if err != nil {
		return err
	}
	inForce := row.policy()
	if inForce.Version != version {
		return policy.ErrVersion
	}
	if ahead := time.Until(fromMillis(row.Now)); ahead > s.DB.ahead {
		return fmt.Errorf("the clock of the database is %v ahead of this machine's: set both right, and try again", ahead.Round(time.Second))
	}
	next = inForce.Succeed(next, fromMillis(row.Now))
	terms, err := next.EncodeTerms()
	if err != nil {
		return err
	}
	further := next.MaxSessions - 1
	if next.Refuse {
		further = max(further, 1) // a login has to ask the policy
	}
	more := max(inForce.MaxSessions, next.MaxSessions+1) // users may have more than are allowed
	pending, through := next.MaxSessions, next.MaxSessions
	switch {
	case inForce.Lowers(&next):
		pending, through = more, more
	case next.LimitsClasses():
		// While a lower limit is being carried out there may be too many of one class although
		// no number is lower now: those who were not asked about have all of their sessions.
		pending = more
	}
	done := tx.Exec("UPDATE settings SET idle_base = ?, absolute_base = ?, terms = ?, "+
		"slots = "+s.DB.d.max+"(slots, ?), reduced_to = "+s.DB.d.max+"(reduced_to, CASE WHEN reduced_to > max_sessions THEN ? ELSE ? END), "+
		"idle_timeout_ms = ?, absolute_lifetime_ms = ?, touch_interval_ms = ?, sweep_schedule = ?, max_sessions = ?, "+
		"version = version + 1, updated_at = "+s.DB.d.now+", updated_by = ?, note = ? WHERE scope = 'global' AND version = ?",
		next.IdleBase.UnixMilli(), next.AbsoluteBase.UnixMilli(), terms, further, pending, through,
		next.Idle.Milliseconds(), next.Absolute.Milliseconds(), next.Touch.Milliseconds(), next.Schedule, next.MaxSessions,
		cut(next.UpdatedBy, 255), cut(next.Note, audit.MaxReason), version)
	if err := found(done, policy.ErrVersion); err != nil {
		return err
	}
	return tx.Exec("INSERT INTO policies ("+policyColumns+", limits) SELECT "+policyColumns+
		", ? FROM settings WHERE scope = 'global'", limits).Error
}

// maxAhead is how far ahead of this machine the clock of the database may be when a policy is set. A policy says of all
// logins before a moment by that clock that they are over, for good: until that moment nobody could log in.
const maxAhead = time.Hour

const policyColumns = "scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, max_sessions, terms, updated_at, updated_by, note"

// PolicyHistory returns the policies that were in force, newest first: at most
// limit, of versions below before, or the newest if before is 0.
func (s *Settings) PolicyHistory(ctx context.Context, before int64, limit int) ([]policy.Policy, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	q := s.DB.gorm.WithContext(ctx).Table("policies").Select(policyColumns + ", limits").Where("scope = 'global'").Order("version DESC").Limit(limit)
	if before > 0 {
		q = q.Where("version < ?", before)
	}
	var rows []settingsRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("sqlstore: policy history: %w", err)
	}
	all := make([]policy.Policy, len(rows))
	for i := range rows {
		err := rows[i].read()
		all[i] = rows[i].policy()
		all[i].LimitsErr = cmp.Or(all[i].LimitsErr, err) // it is shown, and cannot be set again
		// Bases are of now, not of then.
		all[i].IdleBase, all[i].AbsoluteBase, all[i].Scopes = time.Time{}, time.Time{}, nil
	}
	return all, nil
}
