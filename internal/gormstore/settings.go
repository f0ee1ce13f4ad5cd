package gormstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/policy"
)

// Settings are what holds for all instances of a deployment.
type Settings struct{ DB *DB }

var _ policy.Loader = (*Settings)(nil)

type settingsRow struct {
	Version            int64
	IdleTimeoutMs      int64
	AbsoluteLifetimeMs int64
	TouchIntervalMs    int64
	SweepSchedule      string
	IdleBase           int64
	AbsoluteBase       int64
	UpdatedAt          int64
	UpdatedBy          string
}

// LoadPolicy reads the policy in force.
func (s *Settings) LoadPolicy(ctx context.Context) (policy.Policy, error) {
	var rows []settingsRow
	err := s.DB.gorm.WithContext(ctx).Raw("SELECT version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, " +
		"sweep_schedule, idle_base, absolute_base, updated_at, updated_by FROM settings WHERE scope = 'global'").Scan(&rows).Error
	if err == nil && len(rows) == 0 {
		err = errors.New("the settings have no row of scope 'global'; run `flakepass migrate up`")
	}
	if err != nil {
		return policy.Policy{}, fmt.Errorf("gormstore: load policy: %w", err)
	}
	r := rows[0]
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return policy.Policy{
		Idle: ms(r.IdleTimeoutMs), Absolute: ms(r.AbsoluteLifetimeMs), Touch: ms(r.TouchIntervalMs), Schedule: r.SweepSchedule,
		IdleBase: fromMillis(r.IdleBase), AbsoluteBase: fromMillis(r.AbsoluteBase),
		Version: r.Version, UpdatedAt: fromMillis(r.UpdatedAt), UpdatedBy: r.UpdatedBy,
	}, nil
}

// CacheKey is the key under which this deployment's instances sign what they
// put into a shared cache. The first instance to ask makes it.
func (s *Settings) CacheKey(ctx context.Context) ([]byte, error) {
	db := s.DB.gorm.WithContext(ctx)
	for range 2 {
		var keys [][]byte
		if err := db.Raw("SELECT cache_key FROM deployment WHERE id = 1").Scan(&keys).Error; err != nil {
			return nil, fmt.Errorf("gormstore: cache key: %w", err)
		}
		if len(keys) == 1 {
			return keys[0], nil
		}
		fresh := make([]byte, 32)
		_, _ = rand.Read(fresh) // never fails
		err := db.Exec("INSERT INTO deployment (id, cache_key, created_at) VALUES (1, ?, "+s.DB.d.now+")", fresh).Error
		if err != nil && !errors.Is(err, gorm.ErrDuplicatedKey) { // somebody else was first
			return nil, fmt.Errorf("gormstore: cache key: %w", err)
		}
	}
	return nil, errors.New("gormstore: cache key: neither there nor to be made")
}
