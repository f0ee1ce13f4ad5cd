package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// sessionMetrics are the numbers that show whether an end is known everywhere
// in time.
type sessionMetrics struct {
	accepts map[string]*atomic.Uint64 // by source
	age     prometheus.Histogram
	stale   prometheus.Histogram
	arrived *prometheus.HistogramVec
	polls   func(outcome string)
	polling prometheus.Histogram
	ends    prometheus.Counter
	lost    prometheus.Counter
	foreign prometheus.Counter
}

func (m *Metrics) newSessionMetrics() sessionMetrics {
	ages := []float64{.001, .01, .1, .5, 1, 2, 5, 10, 30, 60, 120, 300, 1200}
	auto := promauto.With(m.registry)
	s := sessionMetrics{
		accepts: map[string]*atomic.Uint64{},
		age: m.histogram("flakepass_accept_age_seconds",
			"The age of the database read behind an accepted token. One accept in 64 is observed.", ages),
		stale: m.histogram("flakepass_stale_accept_age_seconds",
			"How long a login had ended when its token was accepted. One accept in 1,000 is looked up; above the bound is an error.", ages),
		arrived: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "flakepass_end_heard_seconds", Buckets: ages,
			Help: "How long after the end of a login, on any instance, this one received it, by the way it came: message or poll.",
		}, []string{"by"}),
		polls: m.counters("outcome", "flakepass_feed_polls_total", "Polls of the database for ends of logins, by outcome."),
		polling: m.histogram("flakepass_feed_poll_duration_seconds", "How long a poll for ends of logins took.",
			[]float64{.0005, .001, .002, .005, .01, .02, .05, .1, .5, 1, 2}),
		ends:    m.counter("flakepass_feed_ends_total", "Ends of logins that polls have read; one end may count several times."),
		lost:    m.counter("flakepass_lost_ends_total", "Ends of logins that the database had lost, and that this instance has written again."),
		foreign: m.counter("flakepass_foreign_values_total", "Values in Redis that this deployment did not write, and that were ignored."),
	}
	for _, source := range []string{"memory", "redis", "database"} {
		n := &atomic.Uint64{}
		s.accepts[source] = n
		auto.NewCounterFunc(prometheus.CounterOpts{
			Name: "flakepass_accepts_total", Help: "Tokens accepted, by the source of the answer: memory, redis or database.",
			ConstLabels: prometheus.Labels{"source": source},
		}, func() float64 { return float64(n.Load()) })
	}
	return s
}

// Accepts is the count of the tokens that were accepted by that source since the start:
// memory, redis or database. Whoever accepts adds to it, so that what is counted on every request
// costs one addition.
func (m *Metrics) Accepts(source string) *atomic.Uint64 { return m.sessions.accepts[source] }

// AcceptAge observes how long before an accept the database was read for it.
func (m *Metrics) AcceptAge(d time.Duration) { m.sessions.age.Observe(d.Seconds()) }

// StaleAccept observes for how long a login was over when it was accepted.
func (m *Metrics) StaleAccept(d time.Duration) { m.sessions.stale.Observe(d.Seconds()) }

// LostEnds counts ends that the database had lost.
func (m *Metrics) LostEnds(n int) { m.sessions.lost.Add(float64(n)) }

// EndArrived observes how long after the end of a login this instance received it.
func (m *Metrics) EndArrived(by string, d time.Duration) {
	m.sessions.arrived.WithLabelValues(by).Observe(max(d, 0).Seconds())
}

// Polled counts a poll of the feed.
func (m *Metrics) Polled(took time.Duration, ends int, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.sessions.polls(outcome)
	m.sessions.polling.Observe(took.Seconds())
	m.sessions.ends.Add(float64(ends))
}

// Foreign counts a value that this deployment did not write.
func (m *Metrics) Foreign(context.Context) { m.sessions.foreign.Inc() }

// Followers registers the number of services that follow the news of logins.
func (m *Metrics) Followers(count func() float64) {
	m.gauge("flakepass_followers", "Services that follow GET /v1/revocations on this instance now.", count)
}

// Horizon registers the age of the feed's horizon, in seconds; before the first
// poll it is infinite.
func (m *Metrics) Horizon(age func() float64) {
	m.gauge("flakepass_horizon_age_seconds",
		"The age of the last applied poll for ends of logins, from its start. Above the bound, memory is not used.", age)
}
