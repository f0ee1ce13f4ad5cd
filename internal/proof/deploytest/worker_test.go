package deploytest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// gauge is the value of a metric without labels in a scrape.
func gauge(t testing.TB, scrape []byte, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(scrape)
	if found == nil {
		t.Fatalf("/metrics lacks %s", name)
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWorkerOnMetricsAndReadyz: a scrape counts the IDs that logins took, and a
// worker that cannot get a longer range is named until it can.
func TestWorkerOnMetricsAndReadyz(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t, "FLAKEPASS_WORKER", "sql")
	c := e2e.NewClient(t, i.Public)
	before := e2e.Metrics(t, i.Ops)
	if gauge(t, before, "flakepass_idworker_healthy") != 1 || gauge(t, before, "flakepass_idworker_range_left_seconds") <= 0 {
		t.Errorf("a new worker:\n%s", before)
	}
	if !strings.Contains(i.Out.String(), fmt.Sprintf("worker number: %.0f\n", gauge(t, before, "flakepass_idworker_number"))) {
		t.Errorf("the greeting names another worker number than the metrics:\n%s", i.Out)
	}
	password := e2e.NewPassword()
	c.Want(c.Register("alice", password), 201, "")
	c.Login("alice", password)
	after := e2e.Metrics(t, i.Ops)
	if got := gauge(t, after, "flakepass_idworker_minted_total") - gauge(t, before, "flakepass_idworker_minted_total"); got != 3 {
		t.Errorf("%v IDs for a user, the event of it, and a login", got)
	}
	for _, name := range []string{"waits_total", "range_waits_total", "rollbacks_total"} {
		if n := gauge(t, after, "flakepass_idworker_"+name); n < 0 || n > 1e6 {
			t.Errorf("%s %v", name, n)
		}
	}

	db := d.SQL(t)
	e2e.Execute(t, db, "ALTER TABLE worker_nodes RENAME TO elsewhere")
	var body string
	testenv.Eventually(t, e2e.Patience, func() bool {
		r := c.Do("GET", "/readyz", "")
		body = string(r.Body)
		return r.Status == 503 && strings.Contains(body, "the ID worker is not healthy: idworker: no range to mint from")
	}, "/readyz does not name the worker")
	if strings.Contains(body, "no such table") || strings.Contains(body, "worker_nodes") {
		t.Errorf("the answer says what the database said: %s", body)
	}
	if gauge(t, e2e.Metrics(t, i.Ops), "flakepass_idworker_healthy") != 0 {
		t.Error("the metrics call the worker healthy")
	}
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(i.Log.String(), "worker_nodes") }, "the log does not say why")

	e2e.Execute(t, db, "ALTER TABLE elsewhere RENAME TO worker_nodes")
	testenv.Eventually(t, e2e.Patience, func() bool { return c.Do("GET", "/readyz", "").Status == 200 }, "not ready again")
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(i.Log.String(), "extended again") }, "the log does not say that it is over")
	if n := strings.Count(i.Log.String(), "range of ID time not extended"); n != 1 {
		t.Errorf("%d lines in the log for one outage", n)
	}
}

// TestEveryMetricIsDocumented in docs/metrics.md, with its type and its words.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	scrape := string(e2e.Metrics(t, e2e.OnSQLite(t).Start(t).Ops))
	types := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (flakepass_\S+) (\S+)$`).FindAllStringSubmatch(scrape, -1) {
		types[m[1]] = m[2]
	}
	helps := regexp.MustCompile(`(?m)^# HELP (flakepass_\S+) (.+)$`).FindAllStringSubmatch(scrape, -1)
	if len(helps) < 10 {
		t.Fatalf("%d metrics of ours", len(helps))
	}
	for _, m := range helps {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", m[1], types[m[1]], m[2]); !strings.Contains(string(doc), row) {
			t.Errorf("docs/metrics.md lacks the row %s", row)
		}
	}
}
