package console

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	Counts []string
}

// activity is what all instances have counted in the last day or week.
func (q *request) activity(ctx context.Context, now time.Time) (view activityView, err error) {
	hours := 24
	view.Since = q.t.Text("overview.day_ago")
	if view.Week = q.r.URL.Query().Get("span") == "week"; view.Week {
		hours, view.Since = 7*24, q.t.Text("overview.week_ago")
	}
	begin := now.UTC().Truncate(time.Hour).Add(-time.Duration(hours-1) * time.Hour)
	counts, err := q.u.Activities.Since(ctx, begin)
	if err != nil {
		return view, err
	}
	table := map[activity.Kind][]int64{}
	for _, k := range activity.Kinds {
		table[k] = make([]int64, hours)
		view.Names = append(view.Names, q.t.Name("activity", string(k)))
	}
	for _, c := range counts {
		if i := int(c.Hour.Sub(begin) / time.Hour); i >= 0 && i < hours && table[c.Kind] != nil {
			table[c.Kind][i] += c.N
		}
	}
	for _, k := range activity.Kinds {
		view.Bars = append(view.Bars, q.t.bars(k, table[k]))
	}
	step := 1
	if view.Week {
		step = 24
	}
	for at := hours - step; at >= 0; at -= step { // the newest first
		row := barRow{At: begin.Add(time.Duration(at) * time.Hour)}
		for _, k := range activity.Kinds {
			row.Counts = append(row.Counts, number(sum(table[k][at:at+step])))
		}
		view.Rows = append(view.Rows, row)
	}
	return view, nil
}

func (t *texts) bars(k activity.Kind, counts []int64) bars {
	most, total := max(1, slices.Max(counts)), sum(counts)
	return bars{
		Name: t.Name("activity", string(k)), Class: string(k), Wide: 4 * len(counts), Empty: total == 0,
		Total: t.Text("overview.total", number(total)), Peak: t.Text("overview.peak", number(most)), Path: barPath(counts, most),
	}
}

// barPath is a path of SVG with a bar for each count.
func barPath[N int64 | float64](counts []N, most N) string {
	var p strings.Builder
	for i, n := range counts {
		if n > 0 {
			high := max(100*float64(n)/float64(most), 2) // one is seen beside a thousand
			p.WriteString("M" + strconv.Itoa(4*i) + " 100V" + coordinate(100-high) + "h3V100Z")
		}
	}
	return p.String()
}

func sum[N int64 | float64](counts []N) (n N) {
	for _, c := range counts {
		n += c
	}
	return n
}

// A memo keeps for a while an answer that is slow to get. Callers wait for one that
// is being made.
type memo[T any] struct {
	mu    sync.Mutex
	key   int64
	until time.Time
	v     T
}

// get is the answer for key, at most that old. One that failed is not kept.
func (m *memo[T]) get(now time.Time, key int64, age time.Duration, make func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key == m.key && now.Before(m.until) {
		return m.v, nil
	}
	return m.make(now, key, age, make)
}

// renew is get for a caller that wants a new answer.
func (m *memo[T]) renew(now time.Time, key int64, age time.Duration, make func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.make(now, key, age, make)
}

func (m *memo[T]) make(now time.Time, key int64, age time.Duration, make func() (T, error)) (T, error) {
	v, err := make()
	if err == nil {
		m.key, m.until, m.v = key, now.Add(age), v
	}
	return v, err
}
