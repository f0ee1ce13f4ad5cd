package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// errNoCondition means that a change does not say what it replaces.
var errNoCondition = errors.New("no If-Match")

// wanted is a policy as a client asks for it. What is nil was left out.
type wanted struct {
	Idle     *wire.Seconds `json:"idle_timeout_seconds"`
	Absolute *wire.Seconds `json:"absolute_lifetime_seconds"`
	Touch    *wire.Seconds `json:"touch_interval_seconds"`
	Schedule *text         `json:"sweep_schedule"`
	Sessions *int          `json:"max_sessions"`

	OverLimit given[text]            `json:"over_limit"`
	Classes   given[[]text]          `json:"device_classes"`
	Overrides given[[]wire.Override] `json:"overrides"`

	Limits  given[wire.Limits] `json:"limits"` // null could be meant to take them away
	Note    text               `json:"note"`
	Confirm bool               `json:"confirm"`
}

// over returns what is wanted, and what was left out, which is as it is in
// force: a PUT says all of it, and nothing is guessed. Only the limits, and what is about the
// sessions of a user, may be left out: who speaks of times need not know of them.
func (w *wanted) over(inForce policy.Policy) (next policy.Policy, missing []invalid.Field) {
	next = inForce
	required := func(field string) {
		missing = append(missing, invalid.Field{Field: field, Code: account.CodeRequired, Message: "must be given; what is to stay is sent as it is"})
	}
	for _, f := range []struct {
		field string
		from  *wire.Seconds
		to    *time.Duration
	}{
		{"idle_timeout_seconds", w.Idle, &next.Idle},
		{"absolute_lifetime_seconds", w.Absolute, &next.Absolute},
		{"touch_interval_seconds", w.Touch, &next.Touch},
	} {
		if f.from == nil {
			required(f.field)
			continue
		}
		*f.to = time.Duration(*f.from)
	}
	if w.Schedule == nil {
		required("sweep_schedule")
	} else {
		next.Schedule = string(*w.Schedule)
	}
	if w.Sessions != nil {
		if next.MaxSessions = *w.Sessions; *w.Sessions == 0 {
			next.MaxSessions = -1 // 0 would leave it as it is
		}
	}
	if v := w.OverLimit.value; v != nil {
		var ok bool
		if next.Refuse, ok = policy.ParseOverLimit(string(*v)); !ok {
			missing = append(missing, invalid.Field{Field: "over_limit", Code: "unknown_value", Message: "must be replace_oldest or refuse"})
		}
	}
	if v := w.Classes.value; v != nil {
		next.Classes = stringsOf(*v)
	}
	if v := w.Overrides.value; v != nil {
		next.Overrides = policy.FromOverrides(*v)
	}
	if w.Limits.value != nil {
		limits, wrong := limit.FromDoc(w.Limits.value)
		missing = append(missing, policy.LimitFields(wrong)...)
		if len(wrong) == 0 {
			next.Limits, next.LimitsErr = limits, nil
		}
	}
	return next, missing
}

func (s *server) setPolicy(c *gin.Context) error {
	by := s.operator(c)
	return s.changePolicy(c, func(ctx context.Context, inForce policy.Policy, change operator.PolicyChange) (policy.Policy, policy.Effect, error) {
		var in wanted
		if err := bind(c, &in); err != nil {
			return policy.Policy{}, policy.Effect{}, err
		}
		var missing []invalid.Field
		change.Next, missing = in.over(inForce)
		change.Note, change.Confirmed = string(in.Note), in.Confirm
		change.DryRun = change.DryRun || len(missing) > 0
		p, effect, err := s.Policies.Set(ctx, by, change)
		if len(missing) > 0 {
			err = alsoMissing(missing, err)
		}
		return p, effect, err
	})
}

// alsoMissing is what is missing, with what else err says is wrong with the
// fields that are there.
func alsoMissing(missing []invalid.Field, err error) error {
	wrong, _ := errors.AsType[*invalid.Error](err)
	all := &invalid.Error{Fields: missing}
	if wrong != nil {
		for _, f := range wrong.Fields {
			if !slices.ContainsFunc(missing, func(m invalid.Field) bool { return m.Field == f.Field }) {
				all.Fields = append(all.Fields, f)
			}
		}
	}
	return all
}

func (s *server) revertPolicy(c *gin.Context) error {
	by := s.operator(c)
	return s.changePolicy(c, func(ctx context.Context, _ policy.Policy, change operator.PolicyChange) (policy.Policy, policy.Effect, error) {
		var in struct {
			Version given[int64] `json:"version"`
			Note    text         `json:"note"`
			Confirm bool         `json:"confirm"`
		}
		if err := bind(c, &in); err != nil {
			return policy.Policy{}, policy.Effect{}, err
		}
		if in.Version.value == nil {
			return policy.Policy{}, policy.Effect{}, invalid.Of("version", account.CodeRequired, "must be given")
		}
		change.Note, change.Confirmed = string(in.Note), in.Confirm
		p, effect, err := s.Policies.Revert(ctx, by, *in.Version.value, change)
		if errors.Is(err, operator.ErrNoVersion) {
			err = invalid.Of("version", "unknown", "must be one that the history lists")
		}
		return p, effect, err
	})
}

// A policyVerb changes the policy in force, or asks what that would do.
type policyVerb func(ctx context.Context, inForce policy.Policy, change operator.PolicyChange) (policy.Policy, policy.Effect, error)

// changePolicy is around both ways to change the policy: what must be as it was,
// whether it is a dry run, and what the answer says of the outcome.
func (s *server) changePolicy(c *gin.Context, do policyVerb) error {
	ctx := c.Request.Context()
	inForce, change, err := s.replaces(c)
	if err != nil {
		return err
	}
	p, effect, err := do(ctx, inForce, change)
	ends := render.Effect(&effect)
	switch {
	case errors.Is(err, operator.ErrUnconfirmed):
		p, _ := lookup(err)
		p.Effect = &ends
		problem.Write(c.Writer, p)
		return nil
	case err != nil:
		return err
	}
	tag := tagOf(p.Version)
	if change.DryRun {
		tag = tagOf(change.Version) // of the policy that is still in force
	}
	c.Header("ETag", tag)
	return answer(c, http.StatusOK, wire.PolicyChanged{Policy: render.Policy(&p), DryRun: change.DryRun, Effect: &ends})
}

// replaces reads which policy a request replaces, and whether it only asks.
func (s *server) replaces(c *gin.Context) (inForce policy.Policy, change operator.PolicyChange, err error) {
	if change.DryRun, err = policyDryRun(c); err != nil {
		return inForce, change, err
	}
	match, given, ok := conditionOf(c.Request.Header, "If-Match")
	switch {
	case !ok:
		return inForce, change, invalid.Of("if_match", "malformed", `must be the ETag of the policy as it was read, with its quotes, such as "7"`)
	case !given:
		return inForce, change, errNoCondition
	}
	inForce, err = s.Policies.Current(c.Request.Context())
	if err == nil && !match.strong(tagOf(inForce.Version)) {
		err = policy.ErrVersion
	}
	change.Version, change.InForce = inForce.Version, &inForce
	return inForce, change, err
}

// policyDryRun reads the one parameter of a change: ?dry_run=true only asks. Anything
// but true and false, and any other name, is refused: who mistyped it would
// change what they wanted to look at.
func policyDryRun(c *gin.Context) (bool, error) {
	values, err := readQuery(c)
	if err != nil {
		return false, err
	}
	for name := range values {
		if name != "dry_run" {
			return false, invalid.Of("query", "unknown", "has a parameter other than dry_run")
		}
	}
	given := values["dry_run"]
	switch {
	case len(given) == 0:
		return false, nil
	case len(given) > 1:
		return false, invalid.Of("dry_run", "repeated", "must come once")
	case given[0] != "true" && given[0] != "false":
		return false, invalid.Of("dry_run", "malformed", "must be true or false")
	}
	return given[0] == "true", nil
}
