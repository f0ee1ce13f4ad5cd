package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Throttled counts the attempts that a limit has refused. Call it once.
func (m *Metrics) Throttled() func(policy string) {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flakepass_throttled_total", Help: "Attempts that were refused unchecked, by the limit that they had reached.",
	}, []string{"policy"})
	m.registry.MustRegister(c)
	for _, policy := range []string{"login", "login-account", "login-address", "register", "introspect", "reset"} {
		c.WithLabelValues(policy)
	}
	return func(policy string) { c.WithLabelValues(policy).Inc() }
}
