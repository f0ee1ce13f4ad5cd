package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flakepass/flakepass/idworker"
)

// A Worker mints IDs. *idworker.Worker is one.
type Worker interface {
	Stats() idworker.Stats
	Healthy() error
}

// Worker reports the ID worker. It is asked once for each scrape, also by several
// scrapes at a time.
func (m *Metrics) Worker(w Worker) {
	m.registry.MustRegister(&workerCollector{worker: w, last: make([]float64, len(workerMetrics))})
}

// workerMetrics are in the order in which the scrape has them.
var workerMetrics = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(idworker.Stats) float64
}{
	{workerDesc("minted_total", "IDs minted by this instance since its start."), prometheus.CounterValue,
		func(s idworker.Stats) float64 { return float64(s.Minted) }},
	{workerDesc("waits_total", "Sleeps of calls that were ahead of the clock by more than the lead."), prometheus.CounterValue,
		func(s idworker.Stats) float64 { return float64(s.Waits) }},
	{workerDesc("range_waits_total", "Calls that found the range of ID time used up and had to ask for more."), prometheus.CounterValue,
		func(s idworker.Stats) float64 { return float64(s.RangeWaits) }},
	{workerDesc("rollbacks_total", "Times that the wall clock was seen to have gone back."), prometheus.CounterValue,
		func(s idworker.Stats) float64 { return float64(s.Rollbacks) }},
	{workerDesc("lead_seconds", "How far the last ID is ahead of the clock; negative if it is older."), prometheus.GaugeValue,
		func(s idworker.Stats) float64 { return s.Lead.Seconds() }},
	{workerDesc("range_left_seconds", "How long the range of ID time lasts from now."), prometheus.GaugeValue,
		func(s idworker.Stats) float64 { return s.FenceLeft.Seconds() }},
	{workerDesc("fence_age_seconds", "Time since the range was last made longer."), prometheus.GaugeValue,
		func(s idworker.Stats) float64 { return s.FenceAge.Seconds() }},
	{workerDesc("lease_age_seconds", "Time since the worker number was taken."), prometheus.GaugeValue,
		func(s idworker.Stats) float64 { return s.LeaseAge.Seconds() }},
	{workerDesc("number", "The worker number in use."), prometheus.GaugeValue,
		func(s idworker.Stats) float64 { return float64(s.Number) }},
}

var workerHealthy = workerDesc("healthy", "1, or 0 while something is wrong that /readyz names.")

func workerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("flakepass_idworker_"+name, help, nil, nil)
}

// A workerCollector asks when it is scraped, so that nothing is counted twice
// and all values are of one moment.
type workerCollector struct {
	worker Worker

	mu   sync.Mutex
	last []float64 // what each counter has shown
}

func (c *workerCollector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range workerMetrics {
		to <- m.desc
	}
	to <- workerHealthy
}

func (c *workerCollector) Collect(to chan<- prometheus.Metric) {
	s := c.worker.Stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range workerMetrics {
		v := m.of(s)
		if m.kind == prometheus.CounterValue {
			// A call under way counts until it fails. Prometheus would take a
			// counter that goes back by one for a restart.
			v = max(v, c.last[i])
			c.last[i] = v
		}
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, v)
	}
	healthy := 0.0
	if c.worker.Healthy() == nil {
		healthy = 1
	}
	to <- prometheus.MustNewConstMetric(workerHealthy, prometheus.GaugeValue, healthy)
}
