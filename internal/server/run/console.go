package run

import (
	"context"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/console"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// consoleParts are what the pages for people look at, and act on.
type consoleParts struct {
	cfg      config.Config
	log      *slog.Logger
	db       *sqlstore.DB
	users    *sqlstore.Users
	ids      *idworker.Worker
	hasher   *account.Hasher
	rule     *policy.Live
	tiers    *tiers
	metrics  *telemetry.Metrics
	sessions *session.Service
	ready    *readiness
	start    time.Time
	desk     *OperatorDesk
	sweeps   SweepDoor
	instance string // the ID of this run of the process
	tally    *audit.Tally
	own      *login.Service
	factors  *secondfactor.Service
}

func newConsole(p consoleParts) *console.UI {
	settings := &sqlstore.Settings{DB: p.db}
	return console.New(console.Options{
		HasAdmin: p.users.HasAdmin, Now: time.Now, Log: p.log, TrustedProxies: p.cfg.TrustedProxies,
		Own: p.own, FactorStates: p.factors, Sessions: p.sessions,
		Policies: PoliciesOf(p.db, p.ids, p.rule, p.log), Sightings: p.tally,
		Schedule: nextSweep, Figures: settings, Activities: &sqlstore.Activity{DB: p.db}, Record: EventsOf(p.db),
		Status: p.status, People: p.desk.Users, Living: p.desk.Sessions,
		Instances: &sqlstore.Instances{DB: p.db},
		Resets:    p.desk.Users, Open: p.desk.Users, PublicURL: p.cfg.PublicURL,
		Factors: p.desk.Users, AdminsNeedFactor: p.cfg.SecondFactor == config.SecondFactorAdmins, LimitsOff: !p.cfg.Throttle,
	})
}

// nextSweep is when the sweep comes next by that schedule.
func nextSweep(spec string, after time.Time) (time.Time, error) {
	schedule, err := sweep.ParseSchedule(spec)
	if err != nil {
		return time.Time{}, err
	}
	return schedule.Next(after.UTC()), nil
}

// status is how this instance is doing.
func (p consoleParts) status(ctx context.Context) console.State {
	return console.State{
		Reasons: append(p.ready.reasons(ctx), unfit(p.ids)...), Version: release.Version(), Up: time.Since(p.start),
		Database: Place(p.cfg), Redis: p.tiers.common.health(ctx), RedisPlace: p.tiers.common.where, Worker: p.ids.Number(),
		Horizon: p.tiers.horizonAge(), Bound: p.cfg.RevocationBound, Sweeps: p.lastSweeps(ctx),
		Self: p.instance, Answers: answersOf(p.metrics),
	}
}

// lastSweeps are the last passes on all instances; none if they cannot be read,
// which the reasons tell.
func (p consoleParts) lastSweeps(ctx context.Context) (last []console.Sweep) {
	passes, err := p.sweeps.Passes(ctx, 0, 5)
	if err != nil {
		return nil
	}
	for i := range passes {
		r := &passes[i]
		s := console.Sweep{Started: r.Started, Instance: r.Instance, Outcome: string(r.Outcome), Cleared: r.Cleared, FailedRows: r.FailedRows}
		if !r.Finished.IsZero() {
			s.Took = r.Took().Round(time.Millisecond)
		}
		last = append(last, s)
	}
	return last
}
