package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the numbers of one instance. Make one with [NewMetrics].
type Metrics struct {
	registry    *prometheus.Registry
	swept       prometheus.Counter
	unswept     prometheus.Counter
	skipped     prometheus.Counter
	sweeps      func(outcome string)
	sweeping    prometheus.Histogram
	unpublished prometheus.Counter
	sessions    sessionMetrics
}

// NewMetrics returns metrics with a registry of their own.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.swept = m.counter("flakepass_swept_logins_total", "Stale logins cleared off user rows by this instance.")
	m.unswept = m.counter("flakepass_sweep_failed_rows_total", "Failed attempts to clear a row in the sweep on this instance.")
	m.skipped = m.counter("flakepass_sweeps_skipped_total", "Passes of the sweep that did not begin on this instance because another was running.")
	m.sweeps = m.counters("outcome", "flakepass_sweeps_total", "Passes of the sweep on this instance, by outcome.")
	m.sweeping = m.histogram("flakepass_sweep_duration_seconds", "How long a pass of the sweep took.", []float64{.001, .01, .1, 1, 10, 60, 600})
	m.unpublished = m.counter("flakepass_untold_endings_total", "Ends of logins whose message could not be sent to Redis; effective on every instance within the bound.")
	promauto.With(m.registry).NewGauge(prometheus.GaugeOpts{
		Name: "flakepass_build_info", Help: "Always 1; the version is in the label.",
		ConstLabels: prometheus.Labels{"version": version},
	}).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.sessions = m.newSessionMetrics()
	return m
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return promauto.With(m.registry).NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// counters differ by a label, and those of values are shown from the start. It returns a
// function that counts one.
func (m *Metrics) counters(label, name, help string, values ...string) func(value string) {
	c := promauto.With(m.registry).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, v := range values {
		c.WithLabelValues(v)
	}
	return func(v string) { c.WithLabelValues(v).Inc() }
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return promauto.With(m.registry).NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// gauge shows what read returns at the time of a scrape.
func (m *Metrics) gauge(name, help string, read func() float64) {
	promauto.With(m.registry).NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

// Hashing shows what the process uses that hashes passwords; pid returns an
// error when there is none.
func (m *Metrics) Hashing(pid func() (int, error)) {
	m.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{PidFn: pid, Namespace: "flakepass_hashing"}))
}

// Swept counts one pass of the sweep.
func (m *Metrics) Swept(outcome string, cleared, failed int64, took time.Duration) {
	m.sweeps(outcome)
	m.swept.Add(float64(cleared))
	m.unswept.Add(float64(failed))
	m.sweeping.Observe(took.Seconds())
}

// SweepSkipped counts a pass that did not begin because another was running.
func (m *Metrics) SweepSkipped() { m.skipped.Inc() }

// Unpublished counts an end that could not be published to the other instances.
func (m *Metrics) Unpublished(context.Context, error) { m.unpublished.Inc() }

// RedisListening returns a function to call whenever this instance begins or ceases
// to receive the ends on other instances from Redis, and adds two metrics about
// it: without Redis there are none. Call it once.
func (m *Metrics) RedisListening() func(bool) {
	listening := promauto.With(m.registry).NewGauge(prometheus.GaugeOpts{
		Name: "flakepass_redis_listening",
		Help: "1 while this instance receives the ends on other instances from Redis, 0 while it reads them by polls.",
	})
	losses := m.counter("flakepass_redis_listening_losses_total", "How often this instance lost the messages of Redis about ends on other instances.")
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

// Summed counts the security events that are on record as part of a sum only.
// Call it once.
func (m *Metrics) Summed() func(n int64) {
	c := m.counter("flakepass_summed_events_total",
		"Refusals and hints that are in a summed audit event only, because there were too many different ones in a minute.")
	return func(n int64) { c.Add(float64(n)) }
}

// BreachedUnread counts how often the list of stolen passwords could not be
// asked. Call it once, and only if there is one.
func (m *Metrics) BreachedUnread() func() {
	return m.counter("flakepass_breached_list_failures_total",
		"Passwords accepted although the list of stolen ones could not be read, and once a minute while a new list cannot be used. Only where there is a list.").Inc
}

// Certificate shows when the certificate of the API ends, which notAfter says.
// Call it once, and only if there is one.
func (m *Metrics) Certificate(notAfter func() time.Time) {
	m.gauge("flakepass_tls_certificate_end_timestamp_seconds",
		"When the certificate of the API ends, in Unix time. Only where it speaks TLS itself.",
		func() float64 { return float64(notAfter().Unix()) })
}

// SecondFactors counts the outcomes of codes: code, recovery, required or invalid.
// Call it once.
func (m *Metrics) SecondFactors() func(outcome string) {
	return m.counters("outcome", "flakepass_second_factor_checks_total",
		"Checks of a second factor on this instance, by outcome: a code, a recovery code, none though one was required, or an invalid one.",
		"code", "recovery", "required", "invalid")
}

// Begun counts logins by the class of their device. The policy bounds how many classes there
// are. Call it once.
func (m *Metrics) Begun() func(class string) {
	return m.counters("device_class", "flakepass_logins_total", "Logins that began on this instance, by the class of the device; GET /v1/admin/stats counts those that live.", "other")
}

// Issued counts logins that an issuer has opened by its method, of which the operator has set
// which there are. Call it once.
func (m *Metrics) Issued(methods []string) func(method string) {
	return m.counters("auth_method", "flakepass_issued_logins_total", "Logins that issuers opened on this instance by POST /v1/issue, by the method; flakepass_logins_total has them too.", methods...)
}

// ServiceKeys counts the questions about service keys, by what came of each and by the scope
// that it needed. Call it once.
func (m *Metrics) ServiceKeys(results, scopes []string) func(result, scope string) {
	c := promauto.With(m.registry).NewCounterVec(prometheus.CounterOpts{
		Name: "flakepass_service_key_checks_total",
		Help: "Checks of service keys on this instance, by the result (accepted, refused, forbidden or undecided) and by the scope that was needed. An open stream checks its key about once a second.",
	}, []string{"result", "scope"})
	for _, r := range results {
		for _, s := range scopes {
			c.WithLabelValues(r, s)
		}
	}
	return func(result, scope string) { c.WithLabelValues(result, scope).Inc() }
}

// ImportHook counts the questions to the import hook by their results, and shows whether it
// is asked at present. Call it once, and only if there is one.
func (m *Metrics) ImportHook(results []string, answers func() bool) func(result string) {
	c := m.counters("result", "flakepass_import_hook_questions_total",
		"Questions to the import hook of this instance, by result: right, wrong, failed (no answer that can be used), unasked (it is left alone, or too many are under way), or cancelled (the client left). Questions about made-up names are among them. Only where there is one.", results...)
	m.gauge("flakepass_import_hook_answers", "1 while the import hook is asked, 0 while this instance leaves it alone because it did not answer. Only where there is one.", func() float64 {
		if answers() {
			return 1
		}
		return 0
	})
	return c
}

// Throttled counts the attempts that a limit has refused. Call it once.
func (m *Metrics) Throttled() func(limit string) {
	return m.counters("policy", "flakepass_throttled_total", "Attempts that a rate limit refused before any check, by the limit.",
		"login-place", "login-account", "login-network", "login-address", "register", "introspect", "reset", "export")
}
