package console

import (
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

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
