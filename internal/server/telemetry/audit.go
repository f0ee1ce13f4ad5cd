package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Summed counts the security events that are on record as part of a sum only.
// Call it once.
func (m *Metrics) Summed() func(n int64) {
	c := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flakepass_summed_events_total",
		Help: "Refusals and hints that are in the record as part of a sum only, because there were too many different ones in a minute.",
	})
	m.registry.MustRegister(c)
	return func(n int64) { c.Add(float64(n)) }
}
