package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// An AuditFilter chooses events. What is zero chooses all; the rest adds up.
type AuditFilter struct {
	Action string    // such as policy.changed
	Actor  string    // who did it: a name, or an ID
	Target string    // to whom or what it was done: a name, or an ID
	Since  time.Time // at this instant or later
	Until  time.Time // before this instant
}

// An AuditEvent is an entry of the record. Times are UTC.
type AuditEvent struct {
	ID        flakepass.ID    `json:"id"`
	At        time.Time       `json:"at"`
	Action    string          `json:"action"`
	Actor     AuditActor      `json:"actor"`
	Via       string          `json:"via"` // the door: api, cli or another
	Target    AuditTarget     `json:"target"`
	Reason    string          `json:"reason"`
	Old       json.RawMessage `json:"old"` // nil where there is none
	New       json.RawMessage `json:"new"`
	RequestID string          `json:"request_id"` // empty where there is none
	Address   string          `json:"address"`    // of the caller; empty where there is none
}

// An AuditActor is who did it. Its ID is 0 for who has no account here.
type AuditActor struct {
	ID   flakepass.ID `json:"id"`
	Name string       `json:"name"`
}

// An AuditTarget is to whom or what it was done. Its ID is 0 for what has none.
type AuditTarget struct {
	Kind string       `json:"kind"`
	ID   flakepass.ID `json:"id"`
	Name string       `json:"name"`
}

func (e AuditEvent) complete() bool { return e.ID != 0 && !e.At.IsZero() && e.Action != "" }

type auditPage struct {
	Events []AuditEvent `json:"events"`
	next
}

func (p auditPage) complete() bool        { return whole(p.Events) }
func (p auditPage) entries() []AuditEvent { return p.Events }

// Audit is the record of what was done to accounts, logins and settings, newest
// first.
func (c *Client) Audit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEvent, error] {
	query := url.Values{}
	for name, text := range map[string]string{"action": f.Action, "actor": f.Actor, "target": f.Target} {
		if text != "" {
			query.Set(name, text)
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return list[auditPage](ctx, c, "/v1/admin/audit", query)
}

// A Sweep is a pass that clears logins that are over off the users' rows. No
// answer about a token depends on it. Times are UTC.
type Sweep struct {
	ID           flakepass.ID
	Instance     string
	RequestedBy  string // empty for one that came by its schedule
	StartedAt    time.Time
	FinishedAt   time.Time // zero while it runs
	Outcome      string    // running; or done, ceiling, slow, failed, stopped, lost or abandoned
	Cleared      int64     // logins
	FailedRows   int64     // rows that refused to be cleared
	LongestBatch time.Duration
	Detail       string // for people
}

// Sweeps are the passes that did something or that somebody asked for, newest
// first. The last 1,000 are kept.
func (c *Client) Sweeps(ctx context.Context) iter.Seq2[Sweep, error] {
	return func(yield func(Sweep, error) bool) {
		for v, err := range list[sweepPage](ctx, c, "/v1/admin/sweeps", nil) {
			if !yield(v.sweep(), err) {
				return
			}
		}
	}
}

// StartSweep has a pass begin, and does not wait for it: [Client.Sweeps] shows how
// far it is. While one runs, here or on another instance, it fails with
// [SweepRunning].
func (c *Client) StartSweep(ctx context.Context) (Sweep, error) {
	v, err := ask[wireSweep](ctx, c, http.MethodPost, "/v1/admin/sweeps", nil)
	return v.sweep(), err
}

type wireSweep struct {
	ID          flakepass.ID `json:"id"`
	Instance    string       `json:"instance"`
	RequestedBy string       `json:"requested_by"`
	StartedAt   time.Time    `json:"started_at"`
	FinishedAt  time.Time    `json:"finished_at"`
	Outcome     string       `json:"outcome"`
	Cleared     int64        `json:"cleared"`
	FailedRows  int64        `json:"failed_rows"`
	LongestMS   int64        `json:"longest_batch_ms"`
	Detail      string       `json:"detail"`
}

func (s wireSweep) complete() bool {
	return s.ID != 0 && s.Outcome != "" && !s.StartedAt.IsZero() && s.Cleared >= 0 && s.FailedRows >= 0 && s.LongestMS >= 0 && s.LongestMS <= longest
}

func (s wireSweep) sweep() Sweep {
	return Sweep{
		s.ID, s.Instance, s.RequestedBy, s.StartedAt, s.FinishedAt, s.Outcome, s.Cleared, s.FailedRows,
		time.Duration(s.LongestMS) * time.Millisecond, s.Detail,
	}
}

type sweepPage struct {
	Sweeps []wireSweep `json:"sweeps"`
	next
}

func (p sweepPage) complete() bool       { return whole(p.Sweeps) }
func (p sweepPage) entries() []wireSweep { return p.Sweeps }
