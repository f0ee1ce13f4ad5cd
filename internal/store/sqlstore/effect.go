package sqlstore

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// Effect says what it would do to the logins that live to replace the policy in
// force by next. It reads ranges of indexes: all of a small one, and a sample
// of a large one.
func (s *Settings) Effect(ctx context.Context, inForce, next policy.Policy, now time.Time) (policy.Effect, error) {
	effect, err := s.effect(ctx, inForce, next, now)
	return effect, failed("effect", err)
}

func (s *Settings) effect(ctx context.Context, inForce, next policy.Policy, now time.Time) (effect policy.Effect, err error) {
	floor, err := s.DB.floor(s.DB.gorm.WithContext(ctx), "")
	if err != nil {
		return effect, err
	}
	after := inForce.Succeed(next, now)
	if next.NeedsFurther() {
		if err := s.older(ctx, knowsSlots); err != nil {
			return effect, err
		}
	}
	if inForce.Scopes != nil || after.Scopes != nil {
		err = s.scoped(ctx, &effect, inForce, after, now)
	} else {
		err = s.ends(ctx, &effect, inForce, after, now, floor)
	}
	if err != nil || !inForce.Lowers(&after) {
		return effect, err
	}
	effect.Lowers = true
	effect.Beyond, effect.BeyondUsers, err = s.beyond(ctx, &after, now, floor)
	effect.Ends = policy.Estimate{Count: effect.Ends.Count + effect.Beyond.Count, Error: together(effect.Ends.Error, effect.Beyond.Error)}
	return effect, err
}

// scoped says what the times of a policy with overrides do: which login ends when, depends
// on what it is, so that no index has the numbers.
func (s *Settings) scoped(ctx context.Context, effect *policy.Effect, inForce, after policy.Policy, now time.Time) error {
	some, err := s.Sample(ctx, inForce, now)
	if err != nil {
		return err
	}
	hour := now.Add(time.Hour)
	effect.Live = some.Count(func(l policy.Facts) bool { return inForce.Lives(l, now) })
	effect.Ends = some.Count(func(l policy.Facts) bool { return inForce.Lives(l, now) && !after.Lives(l, now) })
	effect.Soon = some.Count(func(l policy.Facts) bool { return after.Lives(l, now) && !after.Lives(l, hour) })
	return nil
}

// ends says what the times of a policy without overrides do.
func (s *Settings) ends(ctx context.Context, effect *policy.Effect, inForce, after policy.Policy, now time.Time, floor int64) (err error) {
	issued0, seen0 := marks(&inForce, now, floor)
	issued1, seen1 := marks(&after, now, floor)
	issued2, seen2 := marks(&after, now.Add(time.Hour), floor)
	if effect.Live, err = s.live(ctx, issued0, seen0); err != nil {
		return err
	}
	if effect.Ends, err = s.between(ctx, issued0, issued1, seen0, seen1); err != nil {
		return err
	}
	effect.Soon, err = s.between(ctx, issued1, issued2, seen1, seen2)
	return err
}

// live counts the logins that are issued above issued and seen after seen: all
// of the first kind, less those that are idle, who are few where a sweep runs.
// An index alone has the answer to each.
func (s *Settings) live(ctx context.Context, issued, seen int64) (policy.Estimate, error) {
	issuedSince, err := s.count(ctx, span{"", "token_id", issued, math.MaxInt64, every, 1})
	if err != nil {
		return policy.Estimate{}, err
	}
	idle, err := s.count(ctx, span{"", "token_seen_at", math.MinInt64, seen, "token_id + 0 > ?", issued})
	if err != nil {
		return policy.Estimate{}, err
	}
	return policy.Estimate{Count: max(0, issuedSince.Count-idle.Count), Error: together(issuedSince.Error, idle.Error)}, nil
}

// between counts the logins above the marks 0 that are not above the marks 1.
func (s *Settings) between(ctx context.Context, issued0, issued1, seen0, seen1 int64) (policy.Estimate, error) {
	expire, err := s.count(ctx, span{"", "token_id", issued0, issued1, "token_seen_at + 0 > ?", seen0})
	if err != nil {
		return policy.Estimate{}, err
	}
	idle, err := s.count(ctx, span{"", "token_seen_at", seen0, seen1, "token_id + 0 > ?", issued1})
	if err != nil {
		return policy.Estimate{}, err
	}
	return policy.Estimate{Count: expire.Count + idle.Count, Error: together(expire.Error, idle.Error)}, nil
}

// together is the error of the sum of numbers that have those errors.
func together(errs ...int64) int64 {
	var squares float64
	for _, e := range errs {
		squares += float64(e) * float64(e)
	}
	return int64(math.Ceil(math.Sqrt(squares)))
}

// recordExpiry writes an event for each login, in the transaction that clears
// them: about whose login it was, so that it is found among what else happened
// to that user. idOf is the event's ID.
func recordExpiry(tx *gorm.DB, logins []sweep.Login, why session.Reason, idOf func(sweep.Login) idworker.ID) error {
	events := make([]audit.Event, len(logins))
	for i, l := range logins {
		action, why := audit.LoginExpired, why
		if l.Value == 0 {
			if action = audit.ImpersonationEnded; why == session.Idle {
				why = session.Expired
			}
		}
		// Two texts cannot fail to be JSON.
		value, _ := json.Marshal(session.OverEntry{ID: l.Token, Reason: why})
		events[i] = audit.Event{
			ID: idOf(l), Action: action, By: audit.Actor{Name: "sweep", Via: audit.ViaSweep},
			Target: audit.Target{Kind: "user", ID: l.User}, New: value,
		}
	}
	return insertEvents(tx, events)
}
