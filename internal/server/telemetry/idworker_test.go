package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/server/telemetry"
)

type worker struct {
	stat idworker.Stats
	err  error
}

func (w *worker) Stats() idworker.Stats { return w.stat }
func (w *worker) Healthy() error        { return w.err }

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestWorkerIsReadAtEachScrape(t *testing.T) {
	m := telemetry.NewMetrics("1.2.3")
	now := &worker{stat: idworker.Stats{
		Number: 7, Minted: 41, Waits: 2, RangeWaits: 3, Rollbacks: 4,
		Lead: -1500 * time.Millisecond, FenceLeft: 3 * time.Second, FenceAge: 250 * time.Millisecond, LeaseAge: time.Hour,
	}}
	m.Worker(now)
	holds := func(lines ...string) {
		t.Helper()
		body := scrape(t, m)
		for _, want := range lines {
			if !strings.Contains(body, "\nflakepass_idworker_"+want+"\n") {
				t.Errorf("/metrics lacks flakepass_idworker_%s", want)
			}
		}
	}
	holds("minted_total 41", "waits_total 2", "range_waits_total 3", "rollbacks_total 4", "lead_seconds -1.5",
		"range_left_seconds 3", "fence_age_seconds 0.25", "lease_age_seconds 3600", "number 7", "healthy 1")

	// A call that was counted has failed: a counter does not go back, a gauge does.
	now.stat.Minted, now.stat.Lead, now.err, now.stat.Number = 40, -2*time.Second, idworker.ErrLost, 6
	holds("minted_total 41", "lead_seconds -2", "healthy 0", "number 6")
	now.stat.Minted = 42
	holds("minted_total 42")
}

// TestNamesFollowTheConventions of Prometheus: units, and "_total" for what
// only grows.
func TestNamesFollowTheConventions(t *testing.T) {
	m := telemetry.NewMetrics("1.2.3")
	m.Worker(&worker{})
	m.Swept("done", 1, 0, time.Second)
	var ours strings.Builder
	for line := range strings.Lines(scrape(t, m)) {
		if strings.Contains(line, "flakepass_") {
			ours.WriteString(line)
		}
	}
	problems, err := promlint.New(strings.NewReader(ours.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
