package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// TestUsersHaveNullForNoTime: a script asks for disabled_at of every user.
func TestUsersHaveNullForNoTime(t *testing.T) {
	t.Parallel()
	at := wire.At(time.Date(2026, 11, 22, 20, 24, 0, 0, time.UTC))
	var out strings.Builder
	if err := (userList{JSON: true}).show(&out, []wire.User{{Username: "ada"}, {Username: "bob", DisabledAt: at}}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "disabled_at") != 2 || !strings.Contains(out.String(), `"disabled_at": null`) || !strings.Contains(out.String(), `"disabled_at": "2026-11-22T20:24:00.000Z"`) {
		t.Error(out.String())
	}
}

// TestLimitsThatCannotBeReadAreShownAsThat: the default ones, which count in their
// place, are not what the policy says.
func TestLimitsThatCannotBeReadAreShownAsThat(t *testing.T) {
	t.Parallel()
	unreadable := policy.Policy{Version: 2, Limits: limit.Default(), LimitsErr: errors.New("unexpected end of JSON input")}
	readable := limit.Default()
	good := wire.Policy{Version: 1, Limits: readable.Doc()}
	for what, p := range map[string]wire.Policy{
		"here":  render.Policy(&unreadable),
		"there": {Version: 2}, // the server leaves them out
	} {
		for _, asJSON := range []bool{false, true} {
			var get, history, change strings.Builder
			if err := (policyGet{JSON: asJSON}).show(&get, p); err != nil {
				t.Fatal(err)
			}
			if err := (policyHistory{JSON: asJSON}).show(&history, []wire.Policy{good, p, good}); err != nil {
				t.Fatal(err)
			}
			a := &app{out: &change}
			if err := a.showChange(asJSON, madePolicy{good, done, &wire.Effect{}}, &p, "now"); err != nil {
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

// TestTableNamesTheOverride that says when a login ends: the one of the time that comes first.
func TestTableNamesTheOverride(t *testing.T) {
	t.Parallel()
	at := func(hour int) wire.Time { return wire.At(time.Date(2026, 11, 22, hour, 0, 0, 0, time.UTC)) }
	var out strings.Builder
	err := (sessionList{}).show(&out, []wire.UserSession{
		{Session: wire.Session{ExpiresAt: at(2), IdleExpiresAt: at(1), IdleBy: "class:phone\x1b", ExpiresBy: "role:user"}},
		{Session: wire.Session{ExpiresAt: at(3), IdleExpiresAt: at(3), ExpiresBy: "role:admin"}},
		{Session: wire.Session{ExpiresAt: at(5), IdleExpiresAt: at(4), ExpiresBy: "role:admin"}},
	})
	text := out.String()
	if err != nil || !strings.Contains(text, "T01:00:00Z (class:phone\ufffd)\n") || !strings.Contains(text, "T03:00:00Z (role:admin)\n") || !strings.HasSuffix(text, "T04:00:00Z\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
