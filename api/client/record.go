package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// An AuditFilter chooses events. What is zero chooses all; the rest adds up.
type AuditFilter struct {
	Action string    // such as policy.changed
	Actor  string    // who did it: a name, or an ID
	Target string    // to whom or what it was done: a name, or an ID
	Since  time.Time // at this instant or later
	Until  time.Time // before this instant
}

// Audit is the record of what was done to accounts, logins and settings, newest
// first.
func (c *Client) Audit(ctx context.Context, f AuditFilter) iter.Seq2[wire.Event, error] {
	query := queryOf("action", f.Action, "actor", f.Actor, "target", f.Target)
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return list[wire.Event](ctx, c, "/v1/admin/audit", "events", query)
}

// Sweeps are the passes that did something or that an operator asked for, newest
// first. The last 1,000 are kept.
func (c *Client) Sweeps(ctx context.Context) iter.Seq2[wire.Sweep, error] {
	return list[wire.Sweep](ctx, c, "/v1/admin/sweeps", "sweeps", nil)
}

// StartSweep has a pass begin, and does not wait for it: [Client.Sweeps] shows how
// far it is. While one runs, here or on another instance, it fails with
// [SweepRunning].
func (c *Client) StartSweep(ctx context.Context) (wire.Sweep, error) {
	return ask[wire.Sweep](ctx, c, http.MethodPost, "/v1/admin/sweeps", nil)
}

// Instances are those of the deployment, whichever is asked: those that reported
// last come first, at most 1,000.
func (c *Client) Instances(ctx context.Context) ([]wire.Instance, error) {
	return whole[wire.Instance](ctx, c, "/v1/admin/instances", "instances")
}

type because struct {
	Reason string `json:"reason,omitempty"`
}

// Sessions lists the logins that live, newest first; with a class, those on devices of it.
func (c *Client) Sessions(ctx context.Context, deviceClass string) iter.Seq2[wire.UserSession, error] {
	return list[wire.UserSession](ctx, c, "/v1/admin/sessions", "sessions", queryOf("device_class", deviceClass))
}

// Session is one login that lives. One that is over is [NotFound].
func (c *Client) Session(ctx context.Context, id flakepass.ID) (wire.UserSession, error) {
	return get[wire.UserSession](ctx, c, read("/v1/admin/sessions/"+id.String(), nil))
}

// EndSession ends a login by its ID. One that is over already is no error; one of
// which nothing is known is [NotFound]. within is as [Client.Logout] returns it.
// After any other error assume that it still lives, and try again.
func (c *Client) EndSession(ctx context.Context, id flakepass.ID, reason string) (within time.Duration, err error) {
	return c.act(ctx, http.MethodDelete, "/v1/admin/sessions/"+id.String(), because{reason}, repeatable)
}

// A LoggedOutAll says what [Client.LogoutAll] ended: see [wire.LoggedOutAll].
type LoggedOutAll = wire.LoggedOutAll

// LogoutAll ends every login that has begun so far, that of this client too. After
// an error assume that they still live, and try again.
func (c *Client) LogoutAll(ctx context.Context, reason string) (LoggedOutAll, error) {
	return ask[LoggedOutAll](ctx, c, http.MethodPost, "/v1/admin/logout-all", because{reason})
}
