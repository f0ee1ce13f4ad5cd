package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sessionMetrics are the numbers that show whether an end is known everywhere
// in time.
type sessionMetrics struct {
	accepts map[string]*atomic.Uint64 // by source
	age     prometheus.Histogram
	stale   prometheus.Histogram
	heard   *prometheus.HistogramVec
	polls   *prometheus.CounterVec
	polling prometheus.Histogram
	ends    prometheus.Counter
	foreign prometheus.Counter
}

func newSessionMetrics(r prometheus.Registerer) sessionMetrics {
	ages := []float64{.001, .01, .1, .5, 1, 2, 5, 10, 30, 60, 120, 300, 1200}
	m := sessionMetrics{
		accepts: map[string]*atomic.Uint64{},
		age: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flakepass_accept_age_seconds", Buckets: ages,
			Help: "How long before a token was accepted the database was read for it. One accept in 64 is observed.",
		}),
		stale: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flakepass_stale_accept_age_seconds", Buckets: ages,
			Help: "How long a login had been over when its token was accepted. One accept in 1,000 is looked up; above the bound is an error.",
		}),
		heard: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "flakepass_end_heard_seconds", Buckets: ages,
			Help: "How long after the end of a login, on any instance, this one heard of it, by what it heard it from: message or poll.",
		}, []string{"by"}),
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flakepass_feed_polls_total", Help: "Polls of the database for ends of logins, by outcome.",
		}, []string{"outcome"}),
		polling: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flakepass_feed_poll_duration_seconds", Help: "How long a poll for ends of logins took.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .5, 1, 2},
		}),
		ends: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flakepass_feed_ends_total", Help: "Ends of logins that polls brought word of; one end may count several times.",
		}),
		foreign: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flakepass_foreign_values_total", Help: "Values in Redis that this deployment did not write, and that were not believed.",
		}),
	}
	for _, source := range []string{"memory", "redis", "database"} {
		n := &atomic.Uint64{}
		m.accepts[source] = n
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "flakepass_accepts_total", Help: "Tokens accepted, by who answered for them: memory, redis or database.",
			ConstLabels: prometheus.Labels{"source": source},
		}, func() float64 { return float64(n.Load()) }))
	}
	r.MustRegister(m.age, m.stale, m.heard, m.polls, m.polling, m.ends, m.foreign)
	return m
}

// Accepts counts the tokens that were accepted by that source: memory, redis or
// database. It returns a function, so that what is counted on every request
// costs one addition.
func (m *Metrics) Accepts(source string) (count func()) {
	n := m.sessions.accepts[source]
	return func() { n.Add(1) }
}

// Accepted is how many tokens that source has answered for since the start.
func (m *Metrics) Accepted(source string) uint64 { return m.sessions.accepts[source].Load() }

// AcceptAge observes how long before an accept the database was read for it.
func (m *Metrics) AcceptAge(d time.Duration) { m.sessions.age.Observe(d.Seconds()) }

// StaleAccept observes for how long a login was over when it was accepted.
func (m *Metrics) StaleAccept(d time.Duration) { m.sessions.stale.Observe(d.Seconds()) }

// Heard observes how long after the end of a login this instance heard of it.
func (m *Metrics) Heard(by string, d time.Duration) {
	m.sessions.heard.WithLabelValues(by).Observe(max(d, 0).Seconds())
}

// Polled counts a poll of the feed.
func (m *Metrics) Polled(took time.Duration, ends int, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.sessions.polls.WithLabelValues(outcome).Inc()
	m.sessions.polling.Observe(took.Seconds())
	m.sessions.ends.Add(float64(ends))
}

// Foreign counts a value that this deployment did not write.
func (m *Metrics) Foreign(context.Context) { m.sessions.foreign.Inc() }

// Followers registers the number of services that follow the news of logins.
func (m *Metrics) Followers(count func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flakepass_followers",
		Help: "Services that follow GET /v1/revocations on this instance now.",
	}, count))
}

// Horizon registers the age of the feed's horizon, in seconds; before the first
// poll it is infinite.
func (m *Metrics) Horizon(age func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flakepass_horizon_age_seconds",
		Help: "How long ago the last poll for ends of logins began that was applied. Above the bound, memory is not believed.",
	}, age))
}
