// Package telemetry is what the outside sees of a running instance: its log
// and its metrics. Packages own small hooks; this one fills them.
package telemetry

import (
	"io"
	"log/slog"
	"time"
)

// NewLog returns a logger that writes lines of JSON, or of text for a person,
// with times in UTC.
func NewLog(w io.Writer, format string, level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.String(slog.TimeKey, a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
		}
		if d, ok := a.Value.Any().(time.Duration); ok {
			return slog.String(a.Key, d.Round(time.Microsecond).String())
		}
		return a
	}}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
