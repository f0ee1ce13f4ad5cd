package operator

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A Counter counts. A small number is exact; a large one is estimated from a
// sample, and says how far off it may be.
type Counter interface {
	CountUsers(ctx context.Context, role account.Role) (policy.Estimate, error)
	CountDisabled(ctx context.Context) (policy.Estimate, error)
	CountLogins(ctx context.Context, rule policy.Policy, now time.Time) (policy.Estimate, error)
	Sample(ctx context.Context, rule policy.Policy, now time.Time) (policy.Sample, error)
}

// Stats say how many there are. Set the fields once, before use.
type Stats struct {
	Counter Counter
	Policy  interface{ Current() *policy.Policy }
	Now     func() time.Time
}

// Numbers are how many users there are, in all, by role, and disabled, and how
// many logins live, in all and by device class.
type Numbers struct {
	Users    policy.Estimate
	Roles    map[account.Role]policy.Estimate
	Disabled policy.Estimate
	Live     policy.Estimate
	Classes  map[string]policy.Estimate
}

// Count counts.
func (s *Stats) Count(ctx context.Context) (Numbers, error) {
	n := Numbers{Roles: map[account.Role]policy.Estimate{}}
	var errors2 float64
	for _, role := range []account.Role{account.RoleUser, account.RoleService, account.RoleAdmin} {
		of, err := s.Counter.CountUsers(ctx, role)
		if err != nil {
			return Numbers{}, fmt.Errorf("operator: stats: %w", err)
		}
		n.Roles[role] = of
		n.Users.Count += of.Count
		errors2 += float64(of.Error) * float64(of.Error)
	}
	n.Users.Error = int64(math.Ceil(math.Sqrt(errors2)))
	var err error
	if n.Disabled, err = s.Counter.CountDisabled(ctx); err != nil {
		return Numbers{}, fmt.Errorf("operator: stats: %w", err)
	}
	rule, now := *s.Policy.Current(), s.Now()
	if n.Live, err = s.Counter.CountLogins(ctx, rule, now); err != nil {
		return Numbers{}, fmt.Errorf("operator: stats: %w", err)
	}
	some, err := s.Counter.Sample(ctx, rule, now)
	if err != nil {
		return Numbers{}, fmt.Errorf("operator: stats: %w", err)
	}
	n.Classes = some.ByClass(&rule, now)
	return n, nil
}
