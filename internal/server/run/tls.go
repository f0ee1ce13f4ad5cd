package run

import (
	"context"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/server/telemetry"
)

// renewEvery is how often the files of the certificate are looked at.
const renewEvery = 2 * time.Second

// renew keeps the certificate as new as its files until ctx ends.
func (d *doors) renew(ctx context.Context, log *slog.Logger, metrics *telemetry.Metrics) {
	if d.pair == nil {
		return
	}
	metrics.Certificate(d.pair.NotAfter)
	d.pair.Watch(ctx, renewEvery, func(err error) {
		if err != nil {
			log.ErrorContext(ctx, "new certificate not usable; the one of before stays in force", "err", err, "until", d.pair.NotAfter().UTC())
			return
		}
		log.InfoContext(ctx, "certificate read again", "until", d.pair.NotAfter().UTC())
	})
}
