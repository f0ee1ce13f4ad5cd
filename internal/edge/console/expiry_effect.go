package console

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
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
		live, err := q.u.living(ctx, inForce, now)
		if err != nil {
			q.logFailure(slog.LevelWarn, "logins not counted", err)
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
		q.logFailure(slog.LevelWarn, "no sample of the logins", err)
		return view
	}
	after := inForce.Succeed(next, now)
	view.Curve = q.t.curve(&sample, &inForce, &after, now)
	view.CurveHint = q.t.Text("expiry.curve_hint", number(int64(len(sample.Logins))))
	return view
}

// A curve is how many logins would still live, over time, under two policies.
// Its paths lie in a box of curveWide by curveHigh; its words stand around the
// picture, so that they keep their size when it is stretched.
type curve struct {
	Before, After, Area string // paths of SVG
	Same                bool
	Most                string
	Middle, End         string // of the axis of time
	Rows                []curveRow
}

type curveRow struct{ After, Before, Typed string }

const (
	curveWide, curveHigh = 600, 200
	curveSteps           = 120
)

func (t *texts) curve(s *policy.Sample, before, after *policy.Policy, now time.Time) *curve {
	longest := max(s.Longest(before, now), s.Longest(after, now))
	if longest <= 0 {
		return nil
	}
	times := make([]time.Duration, curveSteps+1)
	for i := range times {
		times[i] = longest * time.Duration(i) / curveSteps
	}
	b, a := s.Living(before, now, times), s.Living(after, now, times)
	most := max(b[0], a[0])
	c := &curve{
		Before: lineOf(b, most), After: lineOf(a, most), Same: sameTerms(before, after),
		Most: number(int64(most)), Middle: t.span(round(longest / 2)), End: t.span(round(longest)),
	}
	c.Area = c.After + " V" + strconv.Itoa(curveHigh) + " H0 Z"
	const rows = 8
	for i := range rows + 1 {
		at := i * curveSteps / rows
		c.Rows = append(c.Rows, curveRow{t.span(round(times[at])), percent(int64(b[at]), int64(most)), percent(int64(a[at]), int64(most))})
	}
	c.Rows[0].After = t.Text("expiry.now")
	return c
}

// lineOf is the line of those heights, from left to right.
func lineOf(heights []float64, most float64) string {
	var p strings.Builder
	for i, h := range heights {
		p.WriteByte("ML"[min(i, 1)])
		p.WriteString(coordinate(float64(i) * curveWide / float64(len(heights)-1)))
		p.WriteByte(' ')
		p.WriteString(coordinate(curveHigh * (1 - h/most)))
	}
	return p.String()
}

func coordinate(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', 1, 64), "0"), ".")
}

// round leaves away what cannot be read off an axis.
func round(d time.Duration) time.Duration {
	switch {
	case d > 4*24*time.Hour:
		return d.Round(24 * time.Hour)
	case d > 4*time.Hour:
		return d.Round(time.Hour)
	case d > 4*time.Minute:
		return d.Round(time.Minute)
	}
	return d.Round(time.Second)
}
