package main

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/policy"
)

// TestJSONHasTimesAsTheAPIHasThem: in UTC with three digits of milliseconds, also
// where these are zero.
func TestJSONHasTimesAsTheAPIHasThem(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 20, 24, 0, 0, time.FixedZone("", 3600))
	id := idworker.Default().Smallest(at)
	p := policy.Policy{Version: 2, UpdatedAt: at}
	for what, v := range map[string]any{
		"audit":        eventLineOf(&audit.Event{ID: id}),
		"policy get":   policyLineOf(&p),
		"session list": sessionLineOf(1, 1, "ada", "user", at, at, at, at),
		"user links":   linkLineOf(id, 1, "ada", 0, "root", at),
		"user list":    userLine{DisabledAt: &audit.Time{Time: at}, CreatedAt: audit.Time{Time: at}},
		"instances":    apiclient.Instance{StartedAt: at, SeenAt: at},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		times := regexp.MustCompile(`"\d{4}-[^"]*"`).FindAllString(string(text), -1)
		if len(times) == 0 {
			t.Errorf("%s has no time: %s", what, text)
		}
		for _, got := range times {
			if got != `"2026-11-22T19:24:00.000Z"` {
				t.Errorf("%s --json has %s", what, got)
			}
		}
	}
}
