package telemetry

import "github.com/prometheus/client_golang/prometheus"

// SecondFactors counts what came of codes: code, recovery, required or invalid.
// Call it once.
func (m *Metrics) SecondFactors() func(outcome string) {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flakepass_second_factor_checks_total",
		Help: "Checks of a second factor on this instance, by outcome: a code, a recovery code, none though one was required, or an invalid one.",
	}, []string{"outcome"})
	m.registry.MustRegister(c)
	for _, outcome := range []string{"code", "recovery", "required", "invalid"} {
		c.WithLabelValues(outcome)
	}
	return func(outcome string) { c.WithLabelValues(outcome).Inc() }
}
