package console

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// Figures are what can be counted of the logins that live. *sqlstore.Settings
// counts them.
//
// CountLogins estimates how many there are; Sample reads some of them.
type Figures interface {
	CountLogins(ctx context.Context, inForce policy.Policy, now time.Time) (policy.Estimate, error)
	Sample(ctx context.Context, inForce policy.Policy, now time.Time) (policy.Sample, error)
}

// An effectView says what a change does.
type effectView struct {
	Same      bool
	Live      string
	Ends      string // how many end at once
	EndsLine  string
	Soon      string
	Beyond    string // those of Ends that are above the number of logins, and of how many users
	Drastic   bool
	SomeEnd   bool
	Curve     *curve
	CurveHint string
}

const (
	countAge = 10 * time.Second // how old a count or a sample that is shown may be
	patience = 5 * time.Second  // with one that takes long
)

// effect says what it does to replace inForce by next. If e is nil it is not
// known, because they are the same or it was not asked for.
func (q *request) effect(inForce, next policy.Policy, e *policy.Effect) *effectView {
	now := q.u.Now()
	ctx, cancel := context.WithTimeout(q.r.Context(), patience)
	defer cancel()
	view := &effectView{Same: samePolicy(&next, &inForce)}
	if e == nil {
		live, err := q.u.live.get(now, inForce.Version, countAge, func() (policy.Estimate, error) {
			return q.u.Figures.CountLogins(ctx, inForce, now)
		})
		if err != nil {
			q.u.Log.WarnContext(ctx, "console: logins not counted", "err", err)
			return nil
		}
		view.Live = q.t.estimate(live)
	} else {
		if e.Lowers {
			view.Beyond = q.t.Text("expiry.beyond_line", q.t.estimate(e.Beyond), q.t.estimate(e.BeyondUsers))
		}
		view.Live, view.Ends, view.Soon = q.t.estimate(e.Live), q.t.estimate(e.Ends), q.t.estimate(e.Soon)
		view.Drastic, view.SomeEnd = e.Drastic(), e.Ends.Count > 0
		if e.Ends.Count == 1 {
			view.EndsLine = q.t.Text("expiry.ends_one", percent(1, e.Live.Count))
		} else {
			view.EndsLine = q.t.Text("expiry.ends_line", view.Ends, percent(e.Ends.Count, e.Live.Count))
		}
	}
	sample, err := q.u.samples.get(now, inForce.Version, countAge, func() (policy.Sample, error) {
		return q.u.Figures.Sample(ctx, inForce, now)
	})
	if err != nil {
		q.u.Log.WarnContext(ctx, "console: no sample of the logins", "err", err)
		return view
	}
	after := inForce.Succeed(next, now)
	view.Curve = q.t.curve(&sample, &inForce, &after, now)
	view.CurveHint = q.t.Text("expiry.curve_hint", number(int64(len(sample.Logins))))
	return view
}
