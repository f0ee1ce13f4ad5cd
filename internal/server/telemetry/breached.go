package telemetry

import "github.com/prometheus/client_golang/prometheus"

// BreachedUnread counts how often the list of stolen passwords could not be
// asked. Call it once, and only if there is one.
func (m *Metrics) BreachedUnread() func() {
	c := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flakepass_breached_list_failures_total",
		Help: "Passwords accepted although the list of stolen ones could not be read, and new lists that could not be used. Only where there is a list.",
	})
	m.registry.MustRegister(c)
	return c.Inc
}
