package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
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
	MaxSessions        int
	IdleBase           int64
	AbsoluteBase       int64
	UpdatedAt          int64
	UpdatedBy          string
	Note               string
	Limits             []byte // JSON; nil: the default ones
	Terms              []byte // JSON, of devices and roles; nil: there are none

	of *policy.Policy // what read has read
}

// read reads what the row says of devices and roles. It fails on what it does not know:
// nothing can be decided then.
func (r *settingsRow) read() error {
	p := r.times()
	if err := p.DecodeTerms(r.Terms); err != nil {
		return fmt.Errorf("sqlstore: %w", err)
	}
	r.of = &p
	return nil
}

// policy is the policy of a row. One that was not read has no terms.
func (r *settingsRow) policy() policy.Policy {
	if r.of == nil {
		return r.times()
	}
	return *r.of
}

func (r *settingsRow) times() policy.Policy {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	limits, err := readLimits(r.Limits)
	return policy.Policy{
		Limits: limits, LimitsErr: err, Further: r.Terms != nil,
		Idle: ms(r.IdleTimeoutMs), Absolute: ms(r.AbsoluteLifetimeMs), Touch: ms(r.TouchIntervalMs), Schedule: r.SweepSchedule,
		MaxSessions: min(r.MaxSessions, policy.MostSessions), // an earlier release allowed 32
		IdleBase:    fromMillis(r.IdleBase), AbsoluteBase: fromMillis(r.AbsoluteBase),
		Version: r.Version, UpdatedAt: fromMillis(r.UpdatedAt), UpdatedBy: r.UpdatedBy, Note: r.Note,
	}
}

const (
	settingsColumns = "s.version, s.idle_timeout_ms, s.absolute_lifetime_ms, s.touch_interval_ms, " +
		"s.sweep_schedule, s.max_sessions, s.idle_base, s.absolute_base, s.terms, s.updated_at, s.updated_by, s.note"
	limitsColumn = ", (SELECT limits FROM policies p WHERE p.scope = s.scope AND p.version = s.version) AS limits"
	fromSettings = " FROM settings s WHERE s.scope = 'global'"
)

// LoadPolicy reads the policy in force.
func (s *Settings) LoadPolicy(ctx context.Context) (policy.Policy, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	rule, err := s.DB.scanRules(s.DB.gorm.WithContext(ctx), s.DB.ruleQuery(limitsColumn))
	return rule.policy(), failed("load policy", s.DB.demoted(err))
}

// CacheKey is the key under which this deployment's instances sign what they
// put into a shared cache. The first instance to ask makes it.
func (s *Settings) CacheKey(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	db := s.DB.gorm.WithContext(ctx)
	for range 2 {
		var keys [][]byte
		if err := db.Raw("SELECT cache_key FROM deployment WHERE id = 1").Scan(&keys).Error; err != nil {
			return nil, fmt.Errorf("sqlstore: cache key: %w", err)
		}
		if len(keys) == 1 {
			return keys[0], nil
		}
		fresh := make([]byte, 32)
		_, _ = rand.Read(fresh) // never fails
		err := s.DB.inTurn(ctx, func() error {
			return db.Exec("INSERT INTO deployment (id, cache_key, created_at) VALUES (1, ?, "+s.DB.d.now+")", fresh).Error
		})
		if err != nil && !errors.Is(err, gorm.ErrDuplicatedKey) { // another instance was first
			return nil, fmt.Errorf("sqlstore: cache key: %w", err)
		}
	}
	return nil, errors.New("sqlstore: cache key: neither there nor to be made")
}

// EndAll ends every login that has begun so far, with one row: it raises the
// global floor, which is returned, to the largest ID that any login has,
// and writes the events in the same transaction. Instances know of it within the
// bound; the sweep clears the rows later.
//
// A login that begins meanwhile ends as well, if its ID is from before now. For this, now is the
// time of the caller's clock or of the database's, whichever is behind. With a floor from the clock
// that is ahead, no user could log in until all other clocks have reached the floor.
//
// Its time grows with each call, also where the floor cannot: a one-time link of
// before is known by it.
//
// Where several servers take writes, it returns only when every transaction is over that
// began on another one before it and may rest on a login that it ended.
func (s *Settings) EndAll(ctx context.Context, now time.Time, events ...audit.Event) (idworker.ID, error) {
	var floor int64
	err := s.DB.transact(ctx, func(tx *gorm.DB) error {
		if err := s.DB.lockSettings(tx); err != nil { // as all do that change them
			return err
		}
		return s.DB.recorded(tx, func(tx *gorm.DB) error {
			if err := s.raiseFloor(tx, now); err != nil {
				return err
			}
			var err error
			floor, err = s.DB.floor(tx, "")
			return err
		}, events...)
	})
	if err != nil {
		return 0, fmt.Errorf("sqlstore: end all: %w", err)
	}
	if s.DB.galera() {
		select {
		case <-time.After(tau):
		case <-ctx.Done():
			return 0, fmt.Errorf("sqlstore: end all: %w", ctx.Err())
		}
	}
	return idworker.ID(floor), nil
}

func (s *Settings) raiseFloor(tx *gorm.DB, now time.Time) error {
	if _, err := s.DB.floor(tx, ""); err != nil { // for what it says of further slots
		return err
	}
	// IDs may run ahead of this clock, by a little or, after a step, by much.
	var highest, ended, at int64
	for _, table := range s.DB.tables() {
		var head struct{ Highest, At int64 }
		if err := tx.Raw("SELECT COALESCE(MAX(token_id), 0) AS highest, " + s.DB.d.now + " AS at FROM " + table).Scan(&head).Error; err != nil {
			return err
		}
		// A login whose end was committed late may still be believed somewhere, and its
		// row has none any more.
		var floor int64
		if err := tx.Raw("SELECT COALESCE(MAX(token_floor), 0) FROM "+table+" WHERE token_floor_at >= ?",
			head.At-believed.Milliseconds()).Scan(&floor).Error; err != nil {
			return err
		}
		highest, ended, at = max(highest, head.Highest), max(ended, floor), head.At
	}
	begun := now
	if there := fromMillis(at); there.Before(begun) {
		begun = there
	}
	return found(tx.Exec("UPDATE settings SET "+s.DB.d.floorSet()+" WHERE scope = 'global'", max(highest, ended, int64(layout.Smallest(begun)))), errNoSettings)
}

// floorSet raises the floor of all users. Its time grows with each call.
func (d *dialect) floorSet() string {
	return "global_floor = " + d.max + "(global_floor, ?), global_floor_at = " + d.max + "(global_floor_at + 1, " + d.now + ")"
}

// believed is longer than any instance believes a login after its end, and than the
// commit of an end usually hangs. Each end of that time is looked at.
const believed = 10 * time.Minute
