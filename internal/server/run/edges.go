package run

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/edge/console"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// api is the HTTP API.
func (s *system) api() (http.Handler, error) {
	var forward flakepass.ForwardKey
	if !s.cfg.ForwardKey.IsZero() {
		var err error
		if forward, err = flakepass.NewForwardKey(s.cfg.ForwardKey.Reveal()); err != nil {
			return nil, fmt.Errorf("serve: FLAKEPASS_FORWARD_KEY: %w", err)
		}
	}
	return httpapi.New(httpapi.Options{
		Own: s.own, Sessions: s.sessions, Quota: s.limits, Keys: s.tiers.keys,
		Policies: PoliciesOf(s.db, s.events, s.rule, s.log), Events: EventsOf(s.db), Incidents: s.collector,
		People: s.operators.people(), Sweeps: s.sweeper, Instances: &sqlstore.Instances{DB: s.db},
		FactorStates: s.factors, AdminsNeedFactor: s.cfg.SecondFactor == config.SecondFactorAdmins,
		Recognition: recognition{s.sessions, s.tiers}, InForce: s.rule, News: s.tiers.news,
		Ready: func(ctx context.Context) []string { return fleet.Sentences(s.reasons(ctx)) }, Warnings: func() []string {
			return slices.Concat(s.evicts.warnings(), s.passwords.warnings(), s.hookWarnings(), s.hashing().warnings(), s.pair.Warnings())
		},
		RegistrationOpen: s.cfg.Registration == config.RegistrationOpen, TokenHeader: s.cfg.TokenHeader,
		ForwardKey: forward, Bound: s.cfg.RevocationBound, PublicURL: s.cfg.PublicURL, TrustedProxies: s.cfg.TrustedProxies, Spec: api.Spec(), Log: s.log,
	})
}

// console is the pages for people.
func (s *system) console() *console.UI {
	return console.New(console.Options{
		HasAdmin: s.users.HasAdmin, Now: time.Now, Log: s.log, TrustedProxies: s.cfg.TrustedProxies,
		Own: s.own, FactorStates: s.factors, Sessions: s.sessions,
		Policies: PoliciesOf(s.db, s.events, s.rule, s.log), Incidents: s.collector,
		Figures: &sqlstore.Settings{DB: s.db}, Activities: &sqlstore.Activity{DB: s.db}, Record: EventsOf(s.db),
		Status: s.status, Instances: &sqlstore.Instances{DB: s.db},
		People: s.operators.people(), Impersonation: s.cfg.Impersonation,
		PublicURL: s.cfg.PublicURL, AdminsNeedFactor: s.cfg.SecondFactor == config.SecondFactorAdmins, LimitsOff: !s.cfg.Throttle,
	})
}

// reasons are why this instance should get no requests.
func (s *system) reasons(ctx context.Context) []fleet.Trouble {
	return append(s.ready.reasons(ctx), unfit(s.ids)...)
}

// status is how this instance is doing, for the page that shows it.
func (s *system) status(ctx context.Context) console.State {
	sweeps, _ := s.sweeper.Passes(ctx, 0, 5) // none if they cannot be read, which the reasons say
	return console.State{
		Reasons: s.reasons(ctx), Version: release.Version(), Up: time.Since(s.start),
		Database: Place(s.cfg), Redis: s.redis.look(ctx), RedisPlace: s.tiers.common.where, Worker: s.ids.Number(),
		Horizon: s.tiers.horizonAge(), Bound: s.cfg.RevocationBound, Sweeps: sweeps,
		Self: s.id, Answers: answersOf(s.metrics),
	}
}

// renewEvery is how often the files of the certificate are looked at.
const renewEvery = 2 * time.Second

// renew keeps the certificate as new as its files until ctx ends.
func (p *ports) renew(ctx context.Context, log *slog.Logger, metrics *telemetry.Metrics) {
	if p.pair == nil {
		return
	}
	metrics.Certificate(p.pair.NotAfter)
	p.pair.Watch(ctx, renewEvery, func(err error) {
		if err != nil {
			log.ErrorContext(ctx, "new certificate not usable; the one of before stays in force", "err", err, "until", p.pair.NotAfter().UTC())
			return
		}
		log.InfoContext(ctx, "certificate read again", "until", p.pair.NotAfter().UTC())
	}, func(warning string) {
		log.WarnContext(ctx, warning) //nolint:sloglint // one of two texts
	})
}
