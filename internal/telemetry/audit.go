package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Unrecorded counts the security events that are not on record.
// Call it once.
func (m *Metrics) Unrecorded() func(n int64) {
	c := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flakepass_unrecorded_events_total",
		Help: "Refusals and hints that are not in the record, because there were too many different ones in a minute.",
	})
	m.registry.MustRegister(c)
	return func(n int64) { c.Add(float64(n)) }
}
