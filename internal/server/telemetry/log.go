// Package telemetry has the log and the metrics of a running instance. Other packages
// have small hooks; this one implements them.
package telemetry

import (
	"context"
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

// Named is log with, at the end of each line, the name of the request on whose
// behalf it is logged, unless the line has it already, and the name of this
// instance. requestID finds the former in a context; empty is none.
func Named(log *slog.Logger, instance string, requestID func(context.Context) string) *slog.Logger {
	return slog.New(named{log.Handler(), instance, requestID})
}

const requestKey, instanceKey = "request_id", "instance"

type named struct {
	slog.Handler
	instance  string
	requestID func(context.Context) string
}

func (h named) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone() // what it has is its caller's
	id := h.requestID(ctx)
	if id != "" {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == requestKey {
				id = ""
			}
			return id != ""
		})
	}
	if id != "" {
		r.AddAttrs(slog.String(requestKey, id))
	}
	r.AddAttrs(slog.String(instanceKey, h.instance))
	return h.Handler.Handle(ctx, r)
}

func (h named) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

func (h named) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
