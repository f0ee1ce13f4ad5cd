package cli

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
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

// TestLimitsThatCannotBeReadAreShownAsThat: the default ones, which count in their
// place, are not what the policy says.
func TestLimitsThatCannotBeReadAreShownAsThat(t *testing.T) {
	t.Parallel()
	good := policy.Policy{Version: 1, Limits: limit.Default()}
	for what, p := range map[string]policy.Policy{
		"here":  {Version: 2, Limits: limit.Default(), LimitsErr: errors.New("unexpected end of JSON input")},
		"there": policyOf(apiclient.Policy{Version: 2}), // the server leaves them out
	} {
		for _, asJSON := range []bool{false, true} {
			var get, history, change strings.Builder
			line := policyLineOf(&p)
			if err := (policyGet{JSON: asJSON}).show(&get, line); err != nil {
				t.Fatal(err)
			}
			if err := (policyHistory{JSON: asJSON}).show(&history, []policyLine{policyLineOf(&good), line, policyLineOf(&good)}); err != nil {
				t.Fatal(err)
			}
			a := &app{out: &change}
			if err := a.showChange(asJSON, madePolicy{policyLine: policyLineOf(&good), Outcome: changed}, &p, "now"); err != nil {
				t.Fatal(err)
			}
			if asJSON {
				if strings.Contains(get.String(), `"limits"`) || strings.Count(history.String(), `"limits"`) != 2 {
					t.Errorf("%s: %s%s", what, get.String(), history.String())
				}
				continue
			}
			if strings.Count(get.String(), "unreadable") != len(limitNames) || strings.Count(history.String(), "unreadable") != 1 || strings.Count(change.String(), "was unreadable") != len(limitNames) {
				t.Errorf("%s:\n%s\n%s\n%s", what, get.String(), history.String(), change.String())
			}
		}
	}
}

// TestNoLinksAreSaidToBeNone in a sentence, and as an empty list in JSON.
func TestNoLinksAreSaidToBeNone(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]userLinks{
		"no one-time link works now\n":                       {},
		"no one-time link that \"ada\" gave out works now\n": {IssuedBy: "ada"},
		"[]\n": {JSON: true},
	} {
		var out strings.Builder
		if err := c.show(&out, []linkLine{}); err != nil || out.String() != want {
			t.Errorf("%q, %v; want %q", out.String(), err, want)
		}
	}
}
