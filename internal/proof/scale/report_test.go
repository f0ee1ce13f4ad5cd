package scale

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A report is a table with one column for each deployment, such as 1000000 or 1000000x5.
type report struct {
	t     testing.TB
	names []string
	cells map[string][]cell
	sizes []string
}

type cell struct {
	size  string
	value float64
	text  string
}

// size begins the next column.
func (r *report) size(n string) { r.sizes = append(r.sizes, n) }

func (r *report) add(what string, value float64, text string) {
	r.t.Logf("%s: %s: %s", r.sizes[len(r.sizes)-1], what, text)
	if _, ok := r.cells[what]; !ok {
		if r.cells == nil {
			r.cells = map[string][]cell{}
		}
		r.names = append(r.names, what)
	}
	r.cells[what] = append(r.cells[what], cell{r.sizes[len(r.sizes)-1], value, text})
}

func (r *report) number(what string, value float64, unit string) {
	r.add(what, value, strings.TrimSpace(fmt.Sprintf("%.4g %s", value, unit)))
}

func (r *report) time(what string, took time.Duration) { r.add(what, took.Seconds(), brief(took)) }

// brief is a duration in three digits or so.
func brief(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	default:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	}
}

// String is the table in Markdown. Growth is the last size over the first.
func (r *report) String() string {
	var b strings.Builder
	b.WriteString("| what |")
	for _, n := range r.sizes {
		fmt.Fprintf(&b, " %s users |", n)
	}
	b.WriteString(" growth |\n|---|" + strings.Repeat("---|", len(r.sizes)+1) + "\n")
	for _, name := range r.names {
		cells := r.cells[name]
		fmt.Fprintf(&b, "| %s |", name)
		for _, n := range r.sizes {
			text := "–"
			if i := slices.IndexFunc(cells, func(c cell) bool { return c.size == n }); i >= 0 {
				text = cells[i].text
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		growth := "–"
		if len(cells) > 1 && len(cells) == len(r.sizes) && cells[0].value > 0 {
			growth = fmt.Sprintf("%.2g", cells[len(cells)-1].value/cells[0].value)
		}
		fmt.Fprintf(&b, " %s |\n", growth)
	}
	return b.String()
}

// A stopwatch notes how long things took, from any goroutine.
type stopwatch struct {
	mu     sync.Mutex
	took   []time.Duration
	failed int
	first  error // of those that failed
}

func (w *stopwatch) note(d time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took = append(w.took, d)
	if err != nil {
		w.failed++
		w.first = cmp.Or(w.first, err)
	}
}

// lap times one call, which must succeed.
func (w *stopwatch) lap(t testing.TB, do func() error) {
	t.Helper()
	start := time.Now()
	err := do()
	w.note(time.Since(start), err)
	must(t, err)
}

// count is how many were noted.
func (w *stopwatch) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.took)
}

// quantile is the time that a share q of all did not exceed.
func (w *stopwatch) quantile(q float64) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.took) == 0 {
		return 0
	}
	slices.Sort(w.took)
	return w.took[int(q*float64(len(w.took)-1))]
}

// quantiles reports the median, the 99th of a hundred and the slowest.
func (r *report) quantiles(what string, w *stopwatch) {
	p50, p99, most := w.quantile(0.5), w.quantile(0.99), w.quantile(1)
	text := brief(p50) + " / " + brief(p99) + " / " + brief(most)
	if w.failed > 0 {
		text += fmt.Sprintf(", %d of %d failed", w.failed, len(w.took))
		r.t.Logf("%s: the first failure: %v", what, w.first)
	}
	r.add(what+": p50 / p99 / max", p50.Seconds(), text)
}
