package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fleets is the variable with which "make scale-instances" says how many instances, in numbers
// separated by commas.
const fleets = "FLAKEPASS_SCALE_INSTANCES"

// TestScaleOfInstances measures on a server of its own, and prints a table.
func TestScaleOfInstances(t *testing.T) {
	wanted := os.Getenv(fleets)
	if wanted == "" {
		t.Skipf("takes minutes; `make scale-instances` runs it, with the numbers of instances in %s", fleets)
	}
	r := &report{t: t}
	r.size("200000")
	d := build(t, 200_000, 0, true, r)
	var sizes []int
	for text := range strings.SplitSeq(wanted, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 64 {
			t.Fatalf("%s has %q; want numbers from 1 to 64 such as 1,4,16,64", fleets, text)
		}
		sizes = append(sizes, n)
	}
	const span, rate = 15, 100
	for _, n := range sizes { // first, since a poll looks back at what has ended
		d.fleet(t, n, span*time.Second, 0)
	}
	for i, n := range sizes {
		d.fleet(t, n, span*time.Second, rate, i*span*rate)
	}
	t.Logf("\n%s", r)
}

// fleet lets n instances poll for some time while rate logins end a second, beginning with the
// one after the first from, and counts what the server did for them.
func (d *deployment) fleet(t testing.TB, n int, span time.Duration, rate int, from ...int) {
	t.Helper()
	var polls, logouts stopwatch
	var running sync.WaitGroup
	stop := make(chan struct{})
	began := make(chan struct{}, n)
	for range n {
		var first sync.Once
		f := d.follow(t, func(took time.Duration, _ int, err error) {
			if !errors.Is(err, context.Canceled) { // the end of this measurement
				polls.note(took, err)
			}
			first.Do(func() { began <- struct{}{} })
		})
		ctx, cancel := withStop(t, stop)
		running.Go(func() { defer cancel(); f.Run(ctx) })
	}
	for range n { // what an instance asks when it starts is not counted
		<-began
	}
	statements, rows := d.counted(t)
	before, cpu, start := polls.count(), d.mysqld(t), time.Now()
	if rate > 0 {
		d.logout(t, d.instance(t).sessions, &logouts, rate*int(span.Seconds()), rate, from[0])
	} else {
		<-time.After(span)
	}
	took, used, looked := time.Since(start).Seconds(), d.mysqld(t)-cpu, polls.count()-before
	asked, read := d.counted(t)
	close(stop)
	running.Wait()
	if polls.failed > 0 || logouts.failed > 0 {
		t.Logf("%d polls and %d logouts failed: %v %v", polls.failed, logouts.failed, polls.first, logouts.first)
	}
	asked, read = asked-statements, read-rows
	if rate == 0 && asked > 3*(looked+n) { // a poll that was under way at the start or at the end counts in part
		t.Errorf("%d instances sent %d statements for %d polls, want 3 for each at most", n, asked, looked)
	}
	if rate == 0 && read > 2*(looked+n) {
		t.Errorf("%d rows were read for %d polls while nothing ended, want the settings and the limits", read, looked)
	}
	what := fmt.Sprintf("%d instances, %d logouts a second: ", n, rate)
	d.number(what+"statements a second", float64(asked)/took, "")
	d.number(what+"rows read a second", float64(read)/took, "")
	d.add(what+"mysqld's CPU in one second", used.Seconds()/took, brief(time.Duration(float64(used)/took)))
	d.quantiles(what+"poll", &polls)
	if rate > 0 {
		d.quantiles(what+"logout", &logouts)
	}
}
