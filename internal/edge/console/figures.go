package console

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

const (
	// shortWait is how long a page waits for figures that are being counted before
	// it is shown without them.
	shortWait = 30 * time.Millisecond
	// failedAge is for how long a failure to count is shown rather than tried
	// again.
	failedAge = 2 * time.Second
)

// figures keeps the counts of a deployment. They are counted in the background: when
// the server starts, and when a page shows counts that are too old. To count may take
// long in the database, and no page waits for the end of it. While no page is shown,
// nothing is counted.
type figures struct {
	ask chan struct{} // holds an element while a page waits for a count

	mu      sync.Mutex
	last    loginCounts
	changed chan struct{} // closed with the next counts
}

// loginCounts are the counts of one time.
type loginCounts struct {
	At      time.Time // zero: never
	Version int64     // of the policy
	Live    policy.Estimate
	Classes map[string]policy.Estimate
	Left    []float64 // logins by how long they have left
	Step    time.Duration
	Within  [2]float64    // that end within an hour, and within a day
	Age     time.Duration // up to which they are shown as those of now
	Failed  time.Time     // since At, if not zero
}

// classes are those of the policy, and behind them others of which logins live.
func (c *loginCounts) classes(p *policy.Policy) []string {
	all := slices.Clone(p.DeviceClasses())
	for _, class := range slices.Sorted(maps.Keys(c.Classes)) {
		if c.Classes[class].Count > 0 && !slices.Contains(all, class) {
			all = append(all, class)
		}
	}
	return all
}

// ageOf is how old figures may be that took so long to count: a second where
// that costs nothing, more where it does, so that a page that is shown all
// the time has the database count for a fiftieth of it.
func ageOf(took time.Duration) time.Duration { return min(max(50*took, time.Second), countAge) }

func newFigures() figures {
	return figures{ask: make(chan struct{}, 1), changed: make(chan struct{})}
}

func (f *figures) read() (loginCounts, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.changed
}

func (f *figures) write(t loginCounts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = t
	close(f.changed)
	f.changed = make(chan struct{})
}

// get returns the last counts, and whether newer ones are under way, which it waits
// for, but not long. A count that failed is not under way.
func (f *figures) get(ctx context.Context, now func() time.Time, version int64) (last loginCounts, pending bool) {
	last, changed := f.read()
	settled := func() bool {
		return last.Version == version && now().Sub(last.At) < last.Age || now().Sub(last.Failed) < failedAge
	}
	if settled() {
		return last, false
	}
	select {
	case f.ask <- struct{}{}:
	default: // another page has asked
	}
	wait := time.NewTimer(shortWait)
	defer wait.Stop()
	for {
		select {
		case <-changed:
			if last, changed = f.read(); settled() {
				return last, false
			}
		case <-wait.C:
			return last, true
		case <-ctx.Done():
			return last, true
		}
	}
}

// Run counts what the overview shows, now and whenever a page wants to know it
// again, until ctx ends. Without it the figures stay uncounted.
func (u *UI) Run(ctx context.Context) {
	for {
		select {
		case <-u.figures.ask: // a page that asked before a count began is served by it
		default:
		}
		u.count(ctx)
		select {
		case <-ctx.Done():
			return
		case <-u.figures.ask:
		}
	}
}

// count counts once. A failure is logged, and the last counts are kept beside it.
func (u *UI) count(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t, err := u.countAll(asking, u.Now())
	if err != nil {
		if ctx.Err() == nil { // else the server stops
			u.Log.WarnContext(ctx, "console: logins not counted", "err", err)
		}
		t, _ = u.figures.read()
		t.Failed = u.Now()
	}
	u.figures.write(t)
}

// living is how many logins live, at most a few seconds old. It waits for the
// count.
func (u *UI) living(ctx context.Context, inForce policy.Policy, now time.Time) (policy.Estimate, error) {
	return u.live.get(now, inForce.Version, countAge, func() (policy.Estimate, error) { return u.Figures.CountLogins(ctx, inForce, now) })
}

// countAll reads what the page about expiry reads, and shares the answers with it.
func (u *UI) countAll(ctx context.Context, now time.Time) (loginCounts, error) {
	inForce, err := u.Policies.Current(ctx)
	if err != nil {
		return loginCounts{}, err
	}
	t, began := loginCounts{Version: inForce.Version}, time.Now()
	t.Live, err = u.live.renew(now, inForce.Version, countAge, func() (policy.Estimate, error) { return u.Figures.CountLogins(ctx, inForce, now) })
	if err != nil {
		return loginCounts{}, err
	}
	sample, err := u.samples.renew(now, inForce.Version, countAge, func() (policy.Sample, error) { return u.Figures.Sample(ctx, inForce, now) })
	if err != nil {
		return loginCounts{}, err
	}
	t.Classes = sample.ByClass(&inForce, now)
	t.Left, t.Step, t.Within = timeLeft(&sample, &inForce, now)
	t.At, t.Age = u.Now(), ageOf(time.Since(began))
	return t, nil
}
