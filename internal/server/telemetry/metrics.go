package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the numbers of one instance. Make one with [NewMetrics].
type Metrics struct {
	registry *prometheus.Registry
	swept    prometheus.Counter
	unswept  prometheus.Counter
	skipped  prometheus.Counter
	sweeps   *prometheus.CounterVec
	sweeping prometheus.Histogram
	untold   prometheus.Counter
	sessions sessionMetrics
}

// NewMetrics returns metrics with a registry of their own.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		swept: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flakepass_swept_logins_total", Help: "Stale logins cleared off user rows by this instance.",
		}),
		unswept: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flakepass_sweep_failed_rows_total", Help: "Rows that refused to be cleared by the sweep on this instance, each time that they did.",
		}),
		skipped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flakepass_sweeps_skipped_total", Help: "Passes of the sweep that did not begin on this instance because another was running.",
		}),
		sweeps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flakepass_sweeps_total", Help: "Passes of the sweep on this instance, by outcome.",
		}, []string{"outcome"}),
		sweeping: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flakepass_sweep_duration_seconds", Help: "How long a pass of the sweep took.",
			Buckets: []float64{.001, .01, .1, 1, 10, 60, 600},
		}),
		untold: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flakepass_untold_endings_total",
			Help: "Endings of logins of which Redis could not be told; effective everywhere within the bound.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flakepass_build_info", Help: "Always 1; the version is in the label.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.swept, m.unswept, m.skipped, m.sweeps, m.sweeping, m.untold, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.sessions = newSessionMetrics(m.registry)
	return m
}

// Hashing shows what the process uses that hashes passwords; pid returns an
// error when there is none.
func (m *Metrics) Hashing(pid func() (int, error)) {
	m.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{PidFn: pid, Namespace: "flakepass_hashing"}))
}

// Swept counts one pass of the sweep.
func (m *Metrics) Swept(outcome string, cleared, failed int64, took time.Duration) {
	m.sweeps.WithLabelValues(outcome).Inc()
	m.swept.Add(float64(cleared))
	m.unswept.Add(float64(failed))
	m.sweeping.Observe(took.Seconds())
}

// SweepSkipped counts a pass that did not begin because another was running.
func (m *Metrics) SweepSkipped() { m.skipped.Inc() }

// Untold counts an ending of which the other instances could not be told.
func (m *Metrics) Untold(context.Context, error) { m.untold.Inc() }

// RedisListening returns what is to be told whenever this instance begins or
// ceases to hear from Redis of endings on the others, and adds two metrics about
// it: without Redis there are none. Call it once.
func (m *Metrics) RedisListening() func(bool) {
	listening := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flakepass_redis_listening",
		Help: "1 while this instance hears from Redis of endings on the others, 0 while it learns of them within the bound.",
	})
	losses := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flakepass_redis_listening_losses_total",
		Help: "How often this instance ceased to hear from Redis of endings on the others.",
	})
	m.registry.MustRegister(listening, losses)
	return func(on bool) {
		if on {
			listening.Set(1)
			return
		}
		listening.Set(0)
		losses.Inc()
	}
}

// Handler serves the metrics in the formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
