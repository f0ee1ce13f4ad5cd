package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Certificate shows when the certificate of the API ends, which notAfter says.
// Call it once, and only if there is one.
func (m *Metrics) Certificate(notAfter func() time.Time) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flakepass_tls_certificate_end_timestamp_seconds",
		Help: "When the certificate of the API ends, in Unix time. Only where it speaks TLS itself.",
	}, func() float64 { return float64(notAfter().Unix()) }))
}
