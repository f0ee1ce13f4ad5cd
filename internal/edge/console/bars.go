package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/activity"
)

// An activityView is a small picture for each kind of what was counted, and all
// of it as a table.
type activityView struct {
	Week  bool
	Since string
	Bars  []bars
	Names []string
	Rows  []barRow // of a table: hours of a day, or days of a week
}

// bars is one kind: a bar for each hour, in a box of 4 by the hour to 100.
type bars struct {
	Name, Class string
	Total, Peak string
	Wide        int
	Path        string
	Empty       bool
}

type barRow struct {
	At     time.Time
	Day    bool
	Counts []string
}

// activity is what all instances have counted in the last day or week.
func (v *visit) activity(ctx context.Context, now time.Time) (view activityView, err error) {
	hours := 24
	view.Since = v.t.Text("overview.day_ago")
	if view.Week = v.r.URL.Query().Get("span") == "week"; view.Week {
		hours, view.Since = 7*24, v.t.Text("overview.week_ago")
	}
	begin := now.UTC().Truncate(time.Hour).Add(-time.Duration(hours-1) * time.Hour)
	counts, err := v.u.Activities.Since(ctx, begin)
	if err != nil {
		return view, err
	}
	table := map[activity.Kind][]int64{}
	for _, k := range activity.Kinds {
		table[k] = make([]int64, hours)
		view.Names = append(view.Names, v.t.Name("activity", string(k)))
	}
	for _, c := range counts {
		if i := int(c.Hour.Sub(begin) / time.Hour); i >= 0 && i < hours && table[c.Kind] != nil {
			table[c.Kind][i] += c.N
		}
	}
	for _, k := range activity.Kinds {
		view.Bars = append(view.Bars, v.t.bars(k, table[k]))
	}
	step := 1
	if view.Week {
		step = 24
	}
	for at := hours - step; at >= 0; at -= step { // the newest first
		row := barRow{At: begin.Add(time.Duration(at) * time.Hour), Day: view.Week}
		for _, k := range activity.Kinds {
			row.Counts = append(row.Counts, number(sum(table[k][at:at+step])))
		}
		view.Rows = append(view.Rows, row)
	}
	return view, nil
}

func (t *texts) bars(k activity.Kind, counts []int64) bars {
	most := int64(1)
	for _, n := range counts {
		most = max(most, n)
	}
	total := sum(counts)
	b := bars{
		Name: t.Name("activity", string(k)), Class: string(k), Wide: 4 * len(counts), Empty: total == 0,
		Total: t.Text("overview.total", number(total)), Peak: t.Text("overview.peak", number(most)),
	}
	var p strings.Builder
	for i, n := range counts {
		if n > 0 {
			high := max(100*float64(n)/float64(most), 2) // one is seen beside a thousand
			p.WriteString("M" + strconv.Itoa(4*i) + " 100V" + coordinate(100-high) + "h3V100Z")
		}
	}
	b.Path = p.String()
	return b
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}
