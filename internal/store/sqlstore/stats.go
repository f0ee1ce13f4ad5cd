package sqlstore

import (
	"context"
	"math"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// CountUsers counts the users who have that role. Up to 50,000 are counted one
// by one; a larger number is estimated from a sample.
func (s *Settings) CountUsers(ctx context.Context, role account.Role) (policy.Estimate, error) {
	n, err := s.countRole(ctx, role)
	return n, failed("count users", err)
}

func (s *Settings) countRole(ctx context.Context, role account.Role) (policy.Estimate, error) {
	if _, err := account.ParseRole(string(role)); err != nil {
		return policy.Estimate{}, err
	}
	// The index of roles has the IDs in their order behind each.
	db := s.DB.gorm.WithContext(ctx)
	var n int64
	err := db.Raw("SELECT COUNT(*) FROM (SELECT 1 AS one FROM users WHERE role = ? LIMIT ?) AS within", string(role), s.DB.exactly+1).Scan(&n).Error
	if err != nil || n <= s.DB.exactly {
		return policy.Estimate{Count: n}, err
	}
	r := span{table: usersTable, column: "id", and: "role = ?", arg: string(role)}
	if err := db.Raw("SELECT MIN(id) - 1 FROM users WHERE role = ?", string(role)).Scan(&r.lo).Error; err != nil {
		return policy.Estimate{}, err
	}
	if err := db.Raw("SELECT MAX(id) FROM users WHERE role = ?", string(role)).Scan(&r.hi).Error; err != nil {
		return policy.Estimate{}, err
	}
	return s.estimate(ctx, r)
}

// CountDisabled counts the users who are disabled, as CountUsers does.
func (s *Settings) CountDisabled(ctx context.Context) (policy.Estimate, error) {
	n, err := s.count(ctx, span{usersTable, "disabled_at", 0, math.MaxInt64, "disabled_at > ?", 0})
	return n, failed("count the disabled", err)
}

// CountLogins counts the logins that live at that time by that policy, as
// CountUsers does.
func (s *Settings) CountLogins(ctx context.Context, rule policy.Policy, now time.Time) (policy.Estimate, error) {
	n, err := s.countLogins(ctx, rule, now)
	return n, failed("count logins", err)
}

func (s *Settings) countLogins(ctx context.Context, rule policy.Policy, now time.Time) (policy.Estimate, error) {
	if rule.Scopes != nil {
		some, err := s.Sample(ctx, rule, now)
		return some.Count(func(l policy.Facts) bool { return rule.Lives(l, now) }), err
	}
	floor, err := s.DB.floor(s.DB.gorm.WithContext(ctx), "")
	if err != nil {
		return policy.Estimate{}, err
	}
	issued, seen := marks(&rule, now, floor)
	return s.live(ctx, issued, seen)
}

// marks are the largest ID of a login that is too old at that time, whatever it is, or that
// the floor has ended, and the latest time of last use of one that is idle.
func marks(rule *policy.Policy, at time.Time, floor int64) (issued, seen int64) {
	oldest, idle := rule.Longest(at)
	return max(int64(layout.Smallest(oldest.Truncate(time.Millisecond).Add(time.Millisecond))-1), floor), idle.UnixMilli()
}
