// Package render makes the documents of the contract out of what the domain knows: one
// function for each. The HTTP API sends them, and the command line prints them.
package render

import (
	"slices"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// User is an account.
func User(u *account.User) wire.User {
	return wire.User{
		ID: wire.ID(u.ID), Username: u.Username, Aliases: u.Aliases, ExternalID: u.ExternalID, Role: string(u.Role), HasFactor: u.HasSecondFactor(),
		DisabledAt: wire.AtOrNone(u.DisabledAt, u.Disabled()), CreatedAt: wire.At(u.CreatedAt), UpdatedAt: wire.At(u.UpdatedAt),
		DeletionAskedAt: wire.At(u.DeletionAskedAt),
	}
}

// Person is a user, and the logins of the user that live.
func Person(p *operator.Person) wire.Person {
	out := wire.Person{User: User(&p.User), Sessions: All(p.Logins, ofLogin)}
	if i := slices.IndexFunc(out.Sessions, func(s wire.Session) bool { return s.Act == nil }); i >= 0 {
		out.Session = &out.Sessions[i]
	}
	return out
}

// Session is a login that lives.
func Session(l *session.Login) wire.UserSession {
	return wire.UserSession{
		Session: ofLogin(l), UserID: wire.ID(l.UserID), Username: l.Username, Role: l.Role,
	}
}

// MySession is a login that lives, for its user, who asks by the login with the ID current.
func MySession(l *session.Login, current idworker.ID) wire.MySession {
	return wire.MySession{Session: ofLogin(l), Current: l.ID == current}
}

func ofLogin(l *session.Login) wire.Session {
	return wire.Session{
		IdleBy: l.IdleBy.Override(), ExpiresBy: l.ExpiresBy.Override(),
		ID: wire.ID(l.ID), Device: wire.Device{Class: l.Device.ClassName(), Name: l.Device.Label()}, IssuedAt: wire.At(l.IssuedAt), LastSeenAt: wire.At(l.Seen),
		ExpiresAt: wire.At(l.ExpiresAt), IdleExpiresAt: wire.At(l.IdleExpiresAt), Act: wire.ActOf(wire.ID(l.Act)),
		AuthMethod: l.AuthMethod(), AuthTime: wire.AtOrNone(l.AuthTime(), l.Act == 0),
	}
}

// Reset is a started reset of a password that can be used.
func Reset(r *account.OpenReset) wire.OpenReset {
	return wire.OpenReset{
		ID: wire.ID(r.ID), UserID: wire.ID(r.UserID), Username: r.Username, Issuer: wire.Party{ID: wire.ID(r.Issuer.ID), Name: r.Issuer.Name},
		IssuedAt: wire.At(idworker.Default().Time(r.ID)), ExpiresAt: wire.At(r.ExpiresAt),
	}
}

// Effect is what a change of the policy does.
func Effect(e *policy.Effect) wire.Effect {
	out := wire.Effect{Live: wire.Estimate(e.Live), EndsNow: wire.Estimate(e.Ends), EndsWithinAHour: wire.Estimate(e.Soon)}
	if e.Lowers {
		out.BeyondLimit = &wire.BeyondLimit{Sessions: wire.Estimate(e.Beyond), Users: wire.Estimate(e.BeyondUsers)}
	}
	return out
}

// Policy is a version of the policy. Limits that cannot be read are left out.
func Policy(p *policy.Policy) wire.Policy {
	out := wire.Policy{
		IdleTimeout: wire.Seconds(p.Idle), AbsoluteLifetime: wire.Seconds(p.Absolute), TouchInterval: wire.Seconds(p.Touch), SweepSchedule: p.Schedule,
		MaxSessions: p.MaxSessions, OverLimit: wire.ReplaceOldest, DeviceClasses: p.DeviceClasses(), Overrides: p.OverridesDoc(),
		Version: p.Version, Note: p.Note,
	}
	if p.Refuse {
		out.OverLimit = wire.Refuse
	}
	if p.LimitsErr == nil {
		out.Limits = p.Limits.Doc()
	}
	if p.Changed() {
		out.UpdatedAt, out.UpdatedBy = wire.At(p.UpdatedAt), p.UpdatedBy
	}
	return out
}

// Event is an entry of the record.
func Event(e *audit.Event) wire.Event {
	return wire.Event{
		ID: wire.ID(e.ID), At: e.At(), Action: string(e.Action), Actor: wire.Party{ID: wire.ID(e.By.ID), Name: e.By.Name}, Via: e.By.Via,
		Target: wire.Target{Kind: e.Target.Kind, Party: wire.Party{ID: wire.ID(e.Target.ID), Name: e.Target.Name}}, Reason: e.Reason,
		Old: e.Old, New: e.New, RequestID: e.By.RequestID, Address: e.By.Address,
	}
}

// Sweep is a pass of the sweep.
func Sweep(r *sweep.Report) wire.Sweep {
	return wire.Sweep{
		ID: wire.ID(r.ID), Instance: r.Instance, RequestedBy: r.RequestedBy, StartedAt: wire.At(r.Started),
		FinishedAt: wire.At(r.Finished), Outcome: string(r.Outcome), Cleared: r.Cleared, FailedRows: r.FailedRows,
		LongestBatch: wire.Millis(r.Longest), Detail: r.Detail,
	}
}

// Instance is what an instance last said of itself.
func Instance(s *fleet.Seen) wire.Instance {
	out := wire.Instance{
		ID: s.ID, Name: s.Name, Version: s.Version, Worker: s.Worker, StartedAt: wire.At(s.Started), SeenAt: wire.At(s.Heard), Silent: wire.Millis(s.Silent),
		NotHeardOf: s.Late(), Bound: wire.Millis(s.Bound), Answers: wire.Answers(s.Answers), Remembered: int64(s.Remembered),
		DatabaseTook: wire.FineMillis(s.DatabaseTook), DatabaseFailed: s.DatabaseFailed, Redis: s.Redis.Error(), RedisTook: wire.FineMillis(s.RedisTook),
		ClockAhead: wire.Millis(s.Clock), Troubles: fleet.Sentences(s.Troubles),
	}
	if s.Horizon >= 0 {
		out.Horizon = new(wire.Millis(s.Horizon))
	}
	return out
}

// All renders a list. It is never nil, for that would be null.
func All[D, W any](list []D, one func(*D) W) []W {
	out := make([]W, len(list))
	for i := range list {
		out[i] = one(&list[i])
	}
	return out
}

// ServiceKey is the key of a service, without its secret.
func ServiceKey(k *servicekey.Key) wire.ServiceKey {
	return wire.ServiceKey{
		ID: wire.ID(k.ID), UserID: wire.ID(k.UserID), Name: k.Name, Scopes: k.Scopes.Names(), CreatedAt: wire.At(k.CreatedAt()),
		Creator:   wire.Party{ID: wire.ID(k.Creator.ID), Name: k.Creator.Name},
		ExpiresAt: wire.At(k.ExpiresAt), RevokedAt: wire.At(k.RevokedAt),
		UsedAt: wire.At(k.UsedAt),
	}
}
