package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
)

// shownInstances is how many rows the table has; a command lists the rest.
const shownInstances = 50

// A fleetView is the instances as a table.
type fleetView struct {
	Rows []instanceRow
	Sum  string
	More string // a sentence; empty if all are shown
}

type instanceRow struct {
	Name, Version, Up    string
	Self                 bool
	Worker               int
	Late                 bool   // what follows is what it said last
	Bad                  string // why it is not well, short; empty if it is
	Troubles             []string
	Horizon              string
	Blind                bool // it believes nothing that it remembers
	Answers              []share
	Total, Remembered    string
	Database, Redis      string
	DatabaseBad, RedisOK bool
	Clock                string
	ClockOff             bool
}

// fleet are all instances, those first that are not well.
func (q *request) fleet(ctx context.Context, self string) (view fleetView, err error) {
	list, err := q.u.Instances.List(ctx, fleet.Most)
	if err != nil {
		return view, err
	}
	slices.SortStableFunc(list, func(a, b fleet.Seen) int {
		return cmp.Or(cmp.Compare(severity(&b), severity(&a)), strings.Compare(a.Name, b.Name), a.Started.Compare(b.Started))
	})
	well := 0
	for i := range list {
		if severity(&list[i]) == 0 {
			well++
		}
		if i < shownInstances {
			row := q.t.instance(&list[i])
			row.Self = list[i].ID == self
			view.Rows = append(view.Rows, row)
		}
	}
	view.Sum = q.t.Text("instances.sum", len(list), well)
	if more := len(list) - len(view.Rows); more > 0 {
		view.More = q.t.Text("instances.more", more)
	}
	return view, nil
}

// severity is how urgently an operator has to look at an instance: 0 if nothing is
// wrong.
func severity(s *fleet.Seen) int {
	switch {
	case s.Late():
		return 3
	case len(s.Troubles) > 0, s.Horizon < 0, s.Horizon > s.Bound:
		return 2
	case s.DatabaseFailed > 0, s.Redis != fleet.RedisGood && s.Redis != fleet.RedisNone:
		return 1
	}
	return 0
}

// instance is one row.
func (t *texts) instance(s *fleet.Seen) instanceRow {
	row := instanceRow{
		Name: s.Name, Version: s.Version, Up: t.Text("overview.uptime", t.span(s.Up)), Worker: s.Worker, Troubles: t.troubles(s.Troubles),
		Late: s.Late(), Remembered: t.Text("instances.remembered", number(int64(s.Remembered))), Total: t.Text("instances.accepted", number(s.Answers.Memory+s.Answers.Redis+s.Answers.Database)),
		Answers:  t.answers(s.Answers),
		Database: t.Text("instances.took", took(s.DatabaseTook)), RedisOK: true,
	}
	switch {
	case s.Late():
		row.Bad = t.Text("instances.silent", t.span(s.Silent.Truncate(time.Second)))
	case len(s.Troubles) > 0:
		row.Bad = t.Text("overview.not_ready")
	}
	switch {
	case s.Horizon < 0:
		row.Horizon, row.Blind = t.Text("instances.no_horizon"), true
	case s.Horizon > s.Bound:
		row.Horizon, row.Blind = t.Text("instances.horizon_late", ago(s.Horizon), boundOf(s.Bound)), true
	default:
		row.Horizon = t.Text("instances.horizon_line", ago(s.Horizon), boundOf(s.Bound))
	}
	if s.DatabaseFailed > 0 {
		row.Database, row.DatabaseBad = t.Text("instances.failed", s.DatabaseFailed), true
	}
	switch s.Redis {
	case fleet.RedisNone:
		row.Redis = t.Text("overview.no_redis")
	case fleet.RedisGood:
		row.Redis = t.Text("instances.took", took(s.RedisTook))
	default:
		row.Redis, row.RedisOK = t.trouble(s.Redis), false
	}
	switch {
	case s.Clock.Abs() < 100*time.Millisecond:
		row.Clock = t.Text("instances.clock_good")
	case s.Clock > 0:
		row.Clock, row.ClockOff = t.Text("instances.clock_ahead", took(s.Clock)), s.Clock > time.Second
	default:
		row.Clock, row.ClockOff = t.Text("instances.clock_behind", took(-s.Clock)), s.Clock < -time.Second
	}
	return row
}

func ago(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// boundOf is a setting, as short as it is exact to a tenth of a second.
func boundOf(d time.Duration) string { return coordinate(d.Seconds()) + " s" }

// took is a short time with its unit, rounded to what matters.
func took(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
