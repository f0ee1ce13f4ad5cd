package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/server/telemetry"
)

func TestEveryLineOfTheLogIsOneObjectInUTC(t *testing.T) {
	var out bytes.Buffer
	log := telemetry.NewLog(&out, "json", slog.LevelInfo)
	log.DebugContext(t.Context(), "not wanted")
	log.InfoContext(t.Context(), "two\nlines\x1b[31m", "took", 1500*time.Millisecond, "name", "a\r\nb")
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 1 {
		t.Fatalf("%d lines, want 1: what is logged cannot begin a line of its own", len(lines))
	}
	var line struct {
		Time, Msg, Took string
	}
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	if at, err := time.Parse(time.RFC3339Nano, line.Time); err != nil || at.Location() != time.UTC {
		t.Errorf("time %q is not RFC 3339 in UTC", line.Time)
	}
	// Wherever the machine is.
	out.Reset()
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.FixedZone("", 5*3600))
	if err := log.Handler().Handle(t.Context(), slog.NewRecord(noon, slog.LevelInfo, "there", 0)); err != nil || !strings.Contains(out.String(), `"time":"2026-11-22T07:00:00.000Z"`) {
		t.Errorf("noon five hours east is written as %s, %v", &out, err)
	}
	if line.Took != "1.5s" {
		t.Errorf("took = %q, want 1.5s", line.Took)
	}
}

func TestTextIsOneLineToo(t *testing.T) {
	var out bytes.Buffer
	telemetry.NewLog(&out, "text", slog.LevelInfo).InfoContext(t.Context(), "two\nlines")
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d line breaks, want 1", n)
	}
}

func TestMetricsShowWhatWasCounted(t *testing.T) {
	m := telemetry.NewMetrics("1.2.3")
	m.Swept("done", 41, 0, time.Second)
	m.Swept("slow", 1, 2, time.Second)
	m.SweepSkipped()
	m.Unpublished(t.Context(), nil)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		"flakepass_swept_logins_total 42",
		`flakepass_sweeps_total{outcome="done"} 1`,
		`flakepass_sweeps_total{outcome="slow"} 1`,
		"flakepass_sweep_failed_rows_total 2",
		"flakepass_sweeps_skipped_total 1",
		"flakepass_untold_endings_total 1",
		`flakepass_build_info{version="1.2.3"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("/metrics lacks %q", want)
		}
	}
}

func TestMetricsShowWhetherRedisListens(t *testing.T) {
	m := telemetry.NewMetrics("1.2.3")
	scrape := func() string {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	if strings.Contains(scrape(), "flakepass_redis") {
		t.Error("without Redis there is a metric about it, which would look like an outage")
	}
	listening := m.RedisListening()
	for _, step := range []struct {
		do              func()
		listens, losses string
	}{
		{func() {}, "0", "0"},
		{func() { listening(true) }, "1", "0"},
		{func() { listening(false) }, "0", "1"},
		{func() { listening(true) }, "1", "1"},
	} {
		step.do()
		text := scrape()
		if !strings.Contains(text, "flakepass_redis_listening "+step.listens+"\n") ||
			!strings.Contains(text, "flakepass_redis_listening_losses_total "+step.losses+"\n") {
			t.Errorf("want listening %s, losses %s in\n%s", step.listens, step.losses, text)
		}
	}
}
