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

	"github.com/flakepass/flakepass/api/wire"
)

// A PolicyChange asks for another policy. Its three times are whole seconds; the
// four fields about time are needed, those that stay too. Limits that are nil stay
// as they are.
type PolicyChange struct {
	IdleTimeout      wire.Seconds `json:"idle_timeout_seconds"`
	AbsoluteLifetime wire.Seconds `json:"absolute_lifetime_seconds"`
	TouchInterval    wire.Seconds `json:"touch_interval_seconds"`
	SweepSchedule    string       `json:"sweep_schedule"`
	MaxSessions      int          `json:"max_sessions,omitempty"` // 0: as it is

	OverLimit     string   `json:"over_limit,omitempty"`     // wire.ReplaceOldest or wire.Refuse; empty: as it is
	DeviceClasses []string `json:"device_classes,omitempty"` // nil: as they are
	// Overrides replace all that there are; nil: as they are.
	Overrides *[]wire.Override `json:"overrides,omitempty"`

	Limits *wire.Limits `json:"limits,omitempty"`
	PolicyHow
}

// PolicyHow is how the policy is changed.
type PolicyHow struct {
	Version int64  `json:"-"`                 // of the policy that is replaced; another one in force is [VersionConflict]
	Note    string `json:"note,omitempty"`    // why, for the history
	DryRun  bool   `json:"-"`                 // only ask what it would do
	Confirm bool   `json:"confirm,omitempty"` // it may end more than one login in twenty
}

// Policy is the policy in force.
func (c *Client) Policy(ctx context.Context) (wire.Policy, error) {
	return get[wire.Policy](ctx, c, read("/v1/admin/policy", nil))
}

// PolicyHistory is every policy that was ever in force, the newest first.
func (c *Client) PolicyHistory(ctx context.Context) iter.Seq2[wire.Policy, error] {
	return list[wire.Policy](ctx, c, "/v1/admin/policy/history", "policies", nil)
}

// SetPolicy replaces the policy in force, and acts on living logins at once. It
// fails with [VersionConflict], with [ConfirmationRequired] and the effect, or
// with [ValidationFailed], after which nothing has changed. After a 5xx or no
// answer the result is unknown: read it.
func (c *Client) SetPolicy(ctx context.Context, to PolicyChange) (wire.PolicyChanged, error) {
	times := map[string]wire.Seconds{"IdleTimeout": to.IdleTimeout, "AbsoluteLifetime": to.AbsoluteLifetime, "TouchInterval": to.TouchInterval}
	if l := to.Limits; l != nil {
		for name, rule := range map[string]*wire.Limit{"LoginAccount": l.LoginAccount, "LoginAddress": l.LoginAddress, "Register": l.Register, "Introspect": l.Introspect} {
			if rule != nil {
				times["Limits."+name] = rule.Period
			}
		}
		for i, rule := range l.LoginPlace {
			times[fmt.Sprintf("Limits.LoginPlace[%d]", i)] = rule.Period
		}
	}
	if to.Overrides != nil {
		for i, o := range *to.Overrides {
			for name, t := range map[string]wire.Seconds{"IdleTimeout": o.IdleTimeout, "AbsoluteLifetime": o.AbsoluteLifetime, "TouchInterval": o.TouchInterval} {
				times[fmt.Sprintf("Overrides[%d].%s", i, name)] = t
			}
		}
	}
	for name, t := range times {
		if time.Duration(t)%time.Second != 0 {
			return wire.PolicyChanged{}, fmt.Errorf("client: PolicyChange.%s must be whole seconds; it is %v", name, t)
		}
	}
	return c.changePolicy(ctx, http.MethodPut, "/v1/admin/policy", to, to.PolicyHow)
}

// RevertPolicy sets once more what was in force as version to, as a new version,
// and fails as [Client.SetPolicy] does. What has ended meanwhile stays over.
func (c *Client) RevertPolicy(ctx context.Context, to int64, how PolicyHow) (wire.PolicyChanged, error) {
	return c.changePolicy(ctx, http.MethodPost, "/v1/admin/policy/revert", struct {
		To int64 `json:"version"`
		PolicyHow
	}{to, how}, how)
}

func (c *Client) changePolicy(ctx context.Context, method, path string, body any, how PolicyHow) (wire.PolicyChanged, error) {
	if how.Version < 1 {
		return wire.PolicyChanged{}, errors.New("client: PolicyHow.Version must be that of the policy that is replaced, as Policy returns it")
	}
	v, err := ask[wire.PolicyChanged](ctx, c, method, path, body, func(r *call) {
		r.header = http.Header{"If-Match": {strconv.Quote(strconv.FormatInt(how.Version, 10))}}
		if how.DryRun {
			r.query = url.Values{"dry_run": {"true"}}
		}
	})
	if err == nil && v.DryRun != how.DryRun {
		return wire.PolicyChanged{}, fmt.Errorf("client: a dry run that was one for only one of the two: %w", ErrAnswer)
	}
	return v, err
}
