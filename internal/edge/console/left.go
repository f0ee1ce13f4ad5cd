package console

import (
	"slices"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// Most bars of the histogram, and the lengths of time that one may stand for.
const mostBars = 30

var steps = [...]time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day,
}

const day = 24 * time.Hour

// timeLeft counts the logins by how long each lives if it is not used: so many
// with less than one step left, so many with less than two, and so on. Nothing
// lives longer than the idle timeout, or than the absolute lifetime where that is
// shorter. within are those that end within an hour and within a day.
func timeLeft(s *policy.Sample, p *policy.Policy, now time.Time) (bins []float64, step time.Duration, within [2]float64) {
	longest := min(p.Idle, p.Absolute)
	for _, step = range steps {
		if longest <= mostBars*step {
			break
		}
	}
	bins = make([]float64, max(int((longest+step-1)/step), 1))
	for _, l := range s.Logins {
		left, over := p.Left(l, now)
		if over {
			continue
		}
		bins[min(int(left/step), len(bins)-1)] += s.Weight
		for i, limit := range []time.Duration{time.Hour, day} {
			if left <= limit {
				within[i] += s.Weight
			}
		}
	}
	return bins, step, within
}

// A leftView is the picture of when logins will be over, and its numbers.
type leftView struct {
	Wide        int
	Path        string
	Soon        string // in words
	Peak        string
	Middle, End string
	Rows        []leftRow
}

type leftRow struct{ From, To, Count, Part string }

// left draws the counts; nil if there is no login.
func (t *texts) left(of *loginCounts) *leftView {
	all := sum(of.Left)
	if all == 0 {
		return nil
	}
	most := slices.Max(of.Left)
	l := &leftView{
		Wide: 4 * len(of.Left), Path: barPath(of.Left, most), Peak: t.Text("instances.left_peak", number(rounded(most))),
		Soon: t.Text("instances.left_soon", number(rounded(of.Within[0])), number(rounded(of.Within[1]))),
	}
	whole := time.Duration(len(of.Left)) * of.Step
	l.Middle, l.End = t.span(whole/2), t.span(whole)
	for i, n := range of.Left {
		l.Rows = append(l.Rows, leftRow{
			t.span(time.Duration(i) * of.Step), t.span(time.Duration(i+1) * of.Step), number(rounded(n)), percent(rounded(n), rounded(all)),
		})
	}
	return l
}

func rounded(n float64) int64 { return int64(n + 0.5) }

// A passView is a pass of the sweep in words.
type passView struct {
	sweep.Report
	Result string
	Time   string
	Bad    bool
}

// passes says what the last passes did.
func (t *texts) passes(list []sweep.Report) (views []passView) {
	for _, r := range list {
		p := passView{Report: r, Result: t.Name("outcome", string(r.Outcome)), Time: "–"}
		if !r.Finished.IsZero() {
			p.Time = took(r.Took().Round(time.Millisecond))
		}
		if r.FailedRows > 0 {
			p.Result += " " + t.Text("instances.rows_failed", number(r.FailedRows))
		}
		p.Bad = r.FailedRows > 0 || r.Outcome == sweep.Failed || r.Outcome == sweep.Slow
		views = append(views, p)
	}
	return views
}

// trouble is what an instance says is wrong, in words. What one of another release
// says may be no code of ours, and stays as it is.
func (t *texts) trouble(what fleet.Trouble) string {
	code, detail := what.Cut()
	if detail != "" {
		detail = t.Text("mark.colon") + detail
	}
	return t.Name("trouble", code) + detail
}

func (t *texts) troubles(list []fleet.Trouble) []string {
	return render.All(list, func(what *fleet.Trouble) string { return t.trouble(*what) })
}

// redis is how the Redis of this instance is doing, and where it is.
func (t *texts) redis(s *State) string {
	switch s.Redis {
	case fleet.RedisNone, "":
		return t.Text("overview.no_redis")
	case fleet.RedisGood:
		return s.RedisPlace
	}
	return t.trouble(s.Redis) + " (" + s.RedisPlace + ")"
}
