package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A Policy says how long logins last, and how much strangers may try. Times are
// UTC.
type Policy struct {
	IdleTimeout      time.Duration // a login that nobody uses for this long ends
	AbsoluteLifetime time.Duration // a login this old ends, used or not
	TouchInterval    time.Duration // the time of last use is written at most this often
	SweepSchedule    string        // a cron expression in UTC, or @every and a duration
	Limits           Limits

	Version   int64     // 1 for the first, raised by every change
	UpdatedAt time.Time // zero for the first version, which nobody has set
	UpdatedBy string    // empty for that
	Note      string    // why
}

// A PolicyChange asks for another policy. Its three times are whole seconds; the
// four fields about time are needed, those that stay too. Limits that are nil stay
// as they are.
type PolicyChange struct {
	IdleTimeout      time.Duration
	AbsoluteLifetime time.Duration
	TouchInterval    time.Duration
	SweepSchedule    string
	Limits           *Limits
	PolicyHow
}

// PolicyHow is how the policy is changed.
type PolicyHow struct {
	Version int64  // of the policy that is replaced; another one in force is [VersionConflict]
	Note    string // why, for the history
	DryRun  bool   // only ask what it would do
	Confirm bool   // it may end more than one login in twenty
}

// A PolicyChanged is a change that was made, or asked about.
type PolicyChanged struct {
	Policy Policy // in force now, or, of a dry run, as it would be
	DryRun bool
	Effect Effect
}

// An Effect is what a change of the policy does to the logins that live.
type Effect struct {
	Live            Estimate `json:"live"`
	EndsNow         Estimate `json:"ends_now"`
	EndsWithinAHour Estimate `json:"ends_within_hour"` // if nobody uses them
}

func (e Effect) sane() bool { return e.Live.sane() && e.EndsNow.sane() && e.EndsWithinAHour.sane() }

// An Estimate is a number, and how far it is off at most in 19 cases of 20. An
// Error of 0 means that the number is exact.
type Estimate struct {
	Count int64 `json:"count"`
	Error int64 `json:"error"`
}

func (e Estimate) sane() bool { return e.Count >= 0 && e.Error >= 0 }

// Policy is the policy in force.
func (c *Client) Policy(ctx context.Context) (Policy, error) {
	v, err := get[wirePolicy](ctx, c, read("/v1/admin/policy", nil))
	return v.policy(), err
}

// PolicyHistory is every policy that was ever in force, the newest first.
func (c *Client) PolicyHistory(ctx context.Context) iter.Seq2[Policy, error] {
	return func(yield func(Policy, error) bool) {
		for v, err := range list[policyPage](ctx, c, "/v1/admin/policy/history", nil) {
			if !yield(v.policy(), err) {
				return
			}
		}
	}
}

// SetPolicy replaces the policy in force, and acts on living logins at once. It
// fails with [VersionConflict], with [ConfirmationRequired] and the effect, or
// with [ValidationFailed], after which nothing has changed. After a 5xx or no
// answer nobody knows: read it.
func (c *Client) SetPolicy(ctx context.Context, to PolicyChange) (PolicyChanged, error) {
	limits, err := to.Limits.wire()
	if err != nil {
		return PolicyChanged{}, err
	}
	w := wireChange{Schedule: to.SweepSchedule, Limits: limits, Note: to.Note, Confirm: to.Confirm}
	for _, f := range []struct {
		name string
		from time.Duration
		to   *int64
	}{{"IdleTimeout", to.IdleTimeout, &w.Idle}, {"AbsoluteLifetime", to.AbsoluteLifetime, &w.Absolute}, {"TouchInterval", to.TouchInterval, &w.Touch}} {
		if f.from%time.Second != 0 {
			return PolicyChanged{}, fmt.Errorf("client: PolicyChange.%s must be whole seconds; it is %v", f.name, f.from)
		}
		*f.to = int64(f.from / time.Second)
	}
	return c.changePolicy(ctx, http.MethodPut, "/v1/admin/policy", w, to.PolicyHow)
}

// RevertPolicy sets once more what was in force as version to, as a new version,
// and fails as [Client.SetPolicy] does. What has ended meanwhile stays over.
func (c *Client) RevertPolicy(ctx context.Context, to int64, how PolicyHow) (PolicyChanged, error) {
	return c.changePolicy(ctx, http.MethodPost, "/v1/admin/policy/revert", struct {
		Version int64  `json:"version"`
		Note    string `json:"note,omitempty"`
		Confirm bool   `json:"confirm,omitempty"`
	}{to, how.Note, how.Confirm}, how)
}

func (c *Client) changePolicy(ctx context.Context, method, path string, body any, how PolicyHow) (PolicyChanged, error) {
	if how.Version < 1 {
		return PolicyChanged{}, errors.New("client: PolicyHow.Version must be that of the policy that is replaced, as Policy returns it")
	}
	v, err := ask[wireChanged](ctx, c, method, path, body, func(r *call) {
		r.header = http.Header{"If-Match": {strconv.Quote(strconv.FormatInt(how.Version, 10))}}
		if how.DryRun {
			r.query = url.Values{"dry_run": {"true"}}
		}
	})
	if err != nil {
		return PolicyChanged{}, err
	}
	if *v.DryRun != how.DryRun {
		return PolicyChanged{}, fmt.Errorf("client: a dry run that was one for only one of the two: %w", ErrAnswer)
	}
	return PolicyChanged{v.policy(), *v.DryRun, *v.Effect}, nil
}

// A wireChange is what the server takes, in seconds.
type wireChange struct {
	Idle     int64       `json:"idle_timeout_seconds"`
	Absolute int64       `json:"absolute_lifetime_seconds"`
	Touch    int64       `json:"touch_interval_seconds"`
	Schedule string      `json:"sweep_schedule"`
	Limits   *wireLimits `json:"limits,omitempty"`
	Note     string      `json:"note,omitempty"`
	Confirm  bool        `json:"confirm,omitempty"`
}

type wirePolicy struct {
	Idle      *int64      `json:"idle_timeout_seconds"`
	Absolute  *int64      `json:"absolute_lifetime_seconds"`
	Touch     *int64      `json:"touch_interval_seconds"`
	Schedule  string      `json:"sweep_schedule"`
	Limits    *wireLimits `json:"limits"`
	Version   int64       `json:"version"`
	UpdatedAt time.Time   `json:"updated_at"`
	UpdatedBy string      `json:"updated_by"`
	Note      string      `json:"note"`
}

// longest is longer than any time that a server tells of, in milliseconds; what
// is longer would not be told from an overflow.
const longest = int64(100 * 365 * 24 * time.Hour / time.Millisecond)

func (p wirePolicy) complete() bool {
	for _, s := range []*int64{p.Idle, p.Absolute, p.Touch} {
		if s == nil || *s < 0 || *s > longest/1000 {
			return false
		}
	}
	return p.Version > 0 && p.Limits.complete()
}

func (p wirePolicy) policy() Policy {
	if p.Idle == nil {
		return Policy{} // of an error
	}
	seconds := func(n *int64) time.Duration { return time.Duration(*n) * time.Second }
	return Policy{seconds(p.Idle), seconds(p.Absolute), seconds(p.Touch), p.Schedule, p.Limits.limits(), p.Version, p.UpdatedAt, p.UpdatedBy, p.Note}
}

type wireChanged struct {
	wirePolicy
	DryRun *bool   `json:"dry_run"`
	Effect *Effect `json:"effect"`
}

func (c wireChanged) complete() bool {
	return c.wirePolicy.complete() && c.DryRun != nil && c.Effect != nil && c.Effect.sane()
}

type policyPage struct {
	Policies []wirePolicy `json:"policies"`
	next
}

func (p policyPage) complete() bool        { return whole(p.Policies) }
func (p policyPage) entries() []wirePolicy { return p.Policies }
