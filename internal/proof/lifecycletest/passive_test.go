package lifecycletest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestPassiveRequestsDoNotKeepALoginAlive polls a login until it is idle: through
// every tier, on each deployment, with the header and at the endpoint for proxies. It
// ends when it would have ended without.
func TestPassiveRequestsDoNotKeepALoginAlive(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			memory := d.Start(t)
			nothing := d.Start(t, "FLAKEPASS_CACHE_ENTRIES", "0")
			const idle, touch = 3 * time.Second, 100 * time.Millisecond
			db := d.SQL(t)
			e2e.Execute(t, db, "UPDATE settings SET version = 2, touch_interval_ms = ?, idle_timeout_ms = ?, sweep_schedule = '0 0 1 1 *' "+
				"WHERE scope = 'global'", touch.Milliseconds(), idle.Milliseconds())
			for _, i := range []*e2e.Instance{memory, nothing} {
				testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(i.Log.String(), `"policy changed" version=2 `) },
					"the new policy is not in force")
			}
			a, b := e2e.NewClient(t, memory.Public), e2e.NewClient(t, nothing.Public)
			password := e2e.NewPassword()
			a.Want(a.Register("paula", password), 201, "")

			// On a machine that stands still too few are answered, and it is done again.
			for polls := 0; polls < 3; {
				polls = pollUntilIdle(t, a, b, password, idle)
			}

			// The same request without the header, or with another value, is a use.
			for _, edit := range []func(*testing.T, *e2e.Client, string) e2e.Answer{
				func(_ *testing.T, c *e2e.Client, token string) e2e.Answer { return c.Me(token) },
				func(_ *testing.T, c *e2e.Client, token string) e2e.Answer {
					return c.Do("GET", "/v1/me", "", e2e.Bearer(token), e2e.Header(flakepass.PassiveHeader, "0"))
				},
			} {
				token, seen := loginOf(t, a, password)
				testenv.Eventually(t, e2e.Patience, func() bool {
					got := edit(t, a, token)
					if got.Status == 401 { // a machine that stood still
						token, seen = loginOf(t, a, password)
						return false
					}
					return lastSeen(t, got).After(seen)
				}, "a use does not count")
			}
		})
	}
}

func loginOf(t *testing.T, c *e2e.Client, password string) (token string, seen time.Time) {
	t.Helper()
	var got e2e.Answer
	testenv.Eventually(t, e2e.Patience, func() bool { // anew, if this machine stood still until the login was idle
		token = c.Login("paula", password)
		got = c.Do("GET", "/v1/me", "", e2e.Bearer(token), e2e.Header(flakepass.PassiveHeader, "1"))
		return got.Status != 401
	}, "a login that lives")
	return token, lastSeen(t, c.Want(got, 200, ""))
}

// pollUntilIdle logs in and asks passively, one instance for the person and the
// other for a proxy, until the login is idle. It returns how often it was alive.
func pollUntilIdle(t *testing.T, a, b *e2e.Client, password string, idle time.Duration) (polls int) {
	t.Helper()
	token, seen := loginOf(t, a, password)
	passive := e2e.Header(flakepass.PassiveHeader, "1")
	for end := seen.Add(idle + time.Millisecond); ; polls++ { // what is answered is rounded to the millisecond
		asked := time.Now()
		got := a.Do("GET", "/v1/me", "", e2e.Bearer(token), passive)
		if other := b.Do("GET", "/v1/verify", "", e2e.Bearer(token), passive); other.Status == 200 {
			left, err := strconv.Atoi(other.Header.Get(flakepass.IdleExpiresInHeader))
			if err != nil || time.Duration(left)*time.Second > end.Sub(asked) {
				t.Fatalf("%q seconds are left, %v; want at most %v", other.Header.Get(flakepass.IdleExpiresInHeader), err, end.Sub(asked))
			}
		}
		if got.Status == 401 {
			a.Want(got, 401, "token_idle_timeout")
			b.Want(b.Do("GET", "/v1/verify", "", e2e.Bearer(token), passive), 401, "token_idle_timeout")
			return polls
		}
		a.Want(got, 200, "")
		if at := lastSeen(t, got); !at.Equal(seen) {
			t.Fatalf("last seen moved from %v to %v by a passive request", seen, at)
		}
		if asked.After(end) {
			t.Fatalf("alive %v after the last use, and the idle timeout is %v", asked.Sub(seen), idle)
		}
	}
}

func lastSeen(t *testing.T, a e2e.Answer) time.Time {
	t.Helper()
	s, _ := a.Fields["session"].(map[string]any)
	text, _ := s["last_seen_at"].(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
