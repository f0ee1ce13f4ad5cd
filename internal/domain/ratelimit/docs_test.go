package ratelimit_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// TestDocumentedBackOff: the table of waits in docs/throttling.md is how long
// a user waits who guesses as often as the limits allow.
func TestDocumentedBackOff(t *testing.T) {
	page, err := os.ReadFile("../../../docs/throttling.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[int]bool{5: true, 6: true, 10: true, 20: true, 30: true, 50: true, 51: true, 75: true, 100: true}
	synctest.Test(t, func(t *testing.T) {
		g := limiter(t, nil)
		start, wait := time.Now(), time.Duration(0)
		for made := 0; made < 100; {
			err := login(t, g, ratelimit.Attempt{Account: "ada", Address: home})
			if limited, ok := errors.AsType[*ratelimit.LimitedError](err); ok {
				wait = max(limited.Retry, time.Nanosecond)
				time.Sleep(wait) //nolint:forbidigo // in a bubble
				continue
			}
			if made++; shown[made] {
				if row := fmt.Sprintf("| %d | %s | %s |", made, roughly(time.Since(start)), roughly(wait)); !strings.Contains(string(page), row) {
					t.Errorf("docs/throttling.md lacks %q", row)
				}
			}
		}
	})
}

// roughly is a time in rounded units.
func roughly(d time.Duration) string {
	switch {
	case d < time.Second:
		return "at once"
	case d < 3*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 3*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	default:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
}

// TestDocumentedLimits holds the tables in SECURITY.md and docs/throttling.md to
// the code, and to the names of the limits in the policy.
func TestDocumentedLimits(t *testing.T) {
	l := limit.Default()
	words := func(rules ...limit.Rule) string {
		var all []string
		for _, r := range rules {
			per := map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour", 24 * time.Hour: "a day"}[r.Per]
			if per == "" {
				per = fmt.Sprintf("in %.0f days", r.Per.Hours()/24)
			}
			all = append(all, fmt.Sprintf("%d %s", r.Count, per))
		}
		return strings.Join(all, ", ")
	}
	for _, file := range []string{"../../../SECURITY.md", "../../../docs/throttling.md"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []string{
			"| `login-place` | attempts for one name from one place | " + words(l.LoginPlace[:l.Place()]...) + " |",
			"| `login-network` | attempts for one name from one network | a fifth of `login-account`: " + words(l.LoginNetwork()) + " |",
			"| `login-account` | attempts for one name from everywhere | " + words(l.LoginAccount) + " |",
			"| `login-address` | attempts from one place, whatever the name | " + words(l.LoginAddress) + " |",
			"| `register` | new accounts from one place | " + words(l.Register) + " |",
			"| `introspect` | questions of one service key, or of one account by its tokens, about tokens, and logins that it opens | " + words(l.Introspect) + " |",
			"| `export` | exports of one's own data by one user | " + words(ratelimit.Exports()) + " |",
		} {
			if !strings.Contains(string(page), row) {
				t.Errorf("%s lacks %q", file, row)
			}
		}
		for _, name := range limit.Names() {
			if shown := strings.ReplaceAll(name, "_", "-"); !strings.Contains(string(page), "\n| `"+shown+"` | ") {
				t.Errorf("%s lacks the limit %s", file, shown)
			}
		}
	}
}
