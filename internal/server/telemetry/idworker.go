package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Worker is how the ID worker of this instance is doing; idworker.Stats says
// what each field means.
type Worker struct {
	Number                               int
	Healthy                              bool
	Minted, Waits, RangeWaits, Rollbacks uint64
	Lead, RangeLeft, FenceAge, LeaseAge  time.Duration
}

// Worker reports the ID worker. read is called once for each scrape, also by
// several scrapes at a time.
func (m *Metrics) Worker(read func() Worker) {
	m.registry.MustRegister(&workerCollector{read: read, last: make([]float64, len(workerMetrics))})
}

// workerMetrics are in the order in which the scrape has them.
var workerMetrics = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(Worker) float64
}{
	{workerDesc("minted_total", "IDs minted by this instance since its start."), prometheus.CounterValue,
		func(w Worker) float64 { return float64(w.Minted) }},
	{workerDesc("waits_total", "Sleeps of calls that were ahead of the clock by more than the lead."), prometheus.CounterValue,
		func(w Worker) float64 { return float64(w.Waits) }},
	{workerDesc("range_waits_total", "Calls that found the range of ID time used up and had to ask for more."), prometheus.CounterValue,
		func(w Worker) float64 { return float64(w.RangeWaits) }},
	{workerDesc("rollbacks_total", "Times that the wall clock was seen to have gone back."), prometheus.CounterValue,
		func(w Worker) float64 { return float64(w.Rollbacks) }},
	{workerDesc("lead_seconds", "How far the last ID is ahead of the clock; negative if it is older."), prometheus.GaugeValue,
		func(w Worker) float64 { return w.Lead.Seconds() }},
	{workerDesc("range_left_seconds", "How long the range of ID time lasts from now."), prometheus.GaugeValue,
		func(w Worker) float64 { return w.RangeLeft.Seconds() }},
	{workerDesc("fence_age_seconds", "Time since the range was last made longer."), prometheus.GaugeValue,
		func(w Worker) float64 { return w.FenceAge.Seconds() }},
	{workerDesc("lease_age_seconds", "Time since the worker number was taken."), prometheus.GaugeValue,
		func(w Worker) float64 { return w.LeaseAge.Seconds() }},
	{workerDesc("number", "The worker number in use."), prometheus.GaugeValue,
		func(w Worker) float64 { return float64(w.Number) }},
	{workerDesc("healthy", "1, or 0 while something is wrong that /readyz names."), prometheus.GaugeValue,
		func(w Worker) float64 {
			if w.Healthy {
				return 1
			}
			return 0
		}},
}

func workerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("flakepass_idworker_"+name, help, nil, nil)
}

// A workerCollector asks when it is scraped, so that nothing is counted twice
// and all values are of one moment.
type workerCollector struct {
	read func() Worker

	mu   sync.Mutex
	last []float64 // what each counter has shown
}

// Describe implements [prometheus.Collector].
func (c *workerCollector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range workerMetrics {
		to <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *workerCollector) Collect(to chan<- prometheus.Metric) {
	w := c.read()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range workerMetrics {
		v := m.of(w)
		if m.kind == prometheus.CounterValue {
			// A call under way counts until it fails. Prometheus would take a
			// counter that goes back by one for a restart.
			v = max(v, c.last[i])
			c.last[i] = v
		}
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, v)
	}
}
