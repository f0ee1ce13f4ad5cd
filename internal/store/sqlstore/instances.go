package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/migrations"
)

// Instances are the last reports of the instances that run.
type Instances struct{ DB *DB }

var _ fleet.Store = (*Instances)(nil)

// Tell writes the report of an instance over its last one, with one statement
// and the database's clock.
func (i *Instances) Tell(ctx context.Context, r fleet.Report) error {
	horizon := int64(-1)
	if r.Horizon >= 0 {
		horizon = r.Horizon.Milliseconds()
	}
	said := []struct {
		column string
		value  any
	}{
		{"name", cut(r.Name, 255)}, {"version", cut(r.Version, 64)}, {"worker", r.Worker},
		{"horizon_ms", horizon}, {"bound_ms", r.Bound.Milliseconds()},
		{"from_memory", int64(r.Answers.Memory)}, {"from_redis", int64(r.Answers.Redis)}, {"from_database", int64(r.Answers.Database)},
		{"remembered", r.Remembered}, {"database_us", r.DatabaseTook.Microseconds()}, {"database_failed", r.DatabaseFailed},
		{"redis", cut(string(r.Redis), 255)}, {"redis_us", r.RedisTook.Microseconds()}, {"clock_ms", r.Clock.Milliseconds()},
		{"troubles", cut(joined(r.Troubles), 1000)},
		{"slots", knowsActs}, // see Settings.older
	}
	now := i.DB.d.now
	columns, values, args := "id, started_at, seen_at", "?, "+now+" - ?, "+now, []any{cut(r.ID, 32), r.Up.Milliseconds()}
	fresh := func(column string) string { return column + " = excluded." + column }
	over := " ON CONFLICT (id) DO UPDATE SET "
	if i.DB.d.name == migrations.MySQL {
		fresh = func(column string) string { return column + " = VALUES(" + column + ")" } // MariaDB knows no other way
		over = " ON DUPLICATE KEY UPDATE "
	}
	over += fresh("seen_at")
	for _, s := range said {
		columns += ", " + s.column
		values += ", ?"
		args = append(args, s.value)
		over += ", " + fresh(s.column)
	}
	query := "INSERT INTO instances (" + columns + ") VALUES (" + values + ")" + over
	return failed("report of an instance", i.DB.exec(ctx, query, args...))
}

// What an instance knows, as it reports it.
const (
	knowsSlots = 1
	knowsActs  = 2 // impersonations, too
)

// older returns a [*policy.OlderInstanceError] if an instance runs that does not know that: one of
// an earlier release, which would refuse the tokens of further slots, and would not end the
// impersonations of an admin who loses the right to them.
func (s *Settings) older(ctx context.Context, what int) error {
	var old []struct{ Name, Version string }
	err := s.DB.query(ctx, &old, "SELECT name, version FROM instances WHERE slots < ? AND seen_at >= "+s.DB.d.now+" - ? LIMIT 1", what, fleet.Late.Milliseconds())
	if err != nil || len(old) == 0 {
		return err
	}
	return &policy.OlderInstanceError{Name: old[0].Name, Version: old[0].Version}
}

// Leave removes the report of an instance.
func (i *Instances) Leave(ctx context.Context, id string) error {
	return failed("an instance leaves", i.DB.exec(ctx, "DELETE FROM instances WHERE id = ?", id))
}

// Clean removes the reports that did not come for longer than gone, and those
// from a future that a clock set back has left behind. It looks first, without a
// lock: mostly there are none.
func (i *Instances) Clean(ctx context.Context, gone time.Duration) (at time.Time, longest time.Duration, err error) {
	var look struct {
		At, Old, Longest int64
	}
	now, ms := i.DB.d.clock, gone.Milliseconds()
	old := "seen_at < " + now + " - ? OR seen_at > " + now + " + ?"
	err = i.DB.query(ctx, &look, "SELECT "+now+" AS at, (SELECT COUNT(*) FROM instances WHERE "+old+") AS old, "+
		"(SELECT COALESCE(MAX(bound_ms), 0) FROM instances WHERE seen_at >= "+now+" - ?) AS longest", ms, ms, fleet.Late.Milliseconds())
	if err == nil && look.Old > 0 {
		err = i.DB.exec(ctx, "DELETE FROM instances WHERE "+old, ms, ms)
	}
	return fromMillis(look.At), time.Duration(look.Longest) * time.Millisecond, failed("instances that are gone", err)
}

type instanceRow struct {
	ID, Name, Version                   string
	Worker                              int
	StartedAt, SeenAt, Asked            int64
	HorizonMs, BoundMs                  int64
	FromMemory, FromRedis, FromDatabase uint64
	Remembered                          int
	DatabaseUs                          int64
	DatabaseFailed                      int
	Redis                               string
	RedisUs, ClockMs                    int64
	Troubles                            string
}

// List returns the last reports, at most limit: those that came last, newest
// first.
func (i *Instances) List(ctx context.Context, limit int) ([]fleet.Seen, error) {
	var rows []instanceRow
	err := i.DB.query(ctx, &rows, "SELECT id, name, version, worker, started_at, seen_at, "+i.DB.d.now+" AS asked, horizon_ms, bound_ms, "+
		"from_memory, from_redis, from_database, remembered, database_us, database_failed, redis, redis_us, clock_ms, troubles "+
		"FROM instances ORDER BY seen_at DESC, id LIMIT ?", limit)
	list := make([]fleet.Seen, len(rows))
	for n := range rows {
		list[n] = rows[n].seen()
	}
	return list, failed("list instances", err)
}

// joined are the troubles of an instance, one a line.
func joined(troubles []fleet.Trouble) string {
	var b strings.Builder
	for _, t := range troubles {
		b.WriteString(string(t) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *instanceRow) seen() fleet.Seen {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	s := fleet.Seen{
		Report: fleet.Report{
			ID: r.ID, Name: r.Name, Version: r.Version, Worker: r.Worker, Up: ms(max(r.SeenAt-r.StartedAt, 0)),
			Horizon: ms(r.HorizonMs), Bound: ms(r.BoundMs), Answers: fleet.Answers{Memory: r.FromMemory, Redis: r.FromRedis, Database: r.FromDatabase},
			Remembered: r.Remembered, DatabaseTook: us(r.DatabaseUs), DatabaseFailed: r.DatabaseFailed,
			Redis: fleet.Trouble(r.Redis), RedisTook: us(r.RedisUs), Clock: ms(r.ClockMs),
		},
		Started: fromMillis(r.StartedAt), Heard: fromMillis(r.SeenAt),
		// A report from the future is one from before the clock was set back.
		Silent: ms(max(r.Asked-r.SeenAt, r.SeenAt-r.Asked)),
	}
	if r.Troubles != "" {
		for trouble := range strings.SplitSeq(r.Troubles, "\n") {
			s.Troubles = append(s.Troubles, fleet.Trouble(trouble))
		}
	}
	return s
}
