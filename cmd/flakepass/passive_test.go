package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestPassiveRequestsDoNotKeepALoginAlive polls a login until it is idle: through
// every tier, on each deployment, with the header and at the door for proxies. It
// ends when it would have ended without.
func TestPassiveRequestsDoNotKeepALoginAlive(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			memory := d.start(t)
			nothing := d.start(t, "FLAKEPASS_CACHE_ENTRIES", "0")
			const idle, touch = 3 * time.Second, 100 * time.Millisecond
			db := d.sql(t)
			execute(t, db, "UPDATE settings SET version = 2, touch_interval_ms = ?, idle_timeout_ms = ?, sweep_schedule = '0 0 1 1 *' "+
				"WHERE scope = 'global'", touch.Milliseconds(), idle.Milliseconds())
			for _, i := range []*instance{memory, nothing} {
				testenv.Eventually(t, patience, func() bool { return strings.Contains(i.log.String(), `"policy changed" version=2 `) },
					"the new policy is not in force")
			}
			a, b := newClient(t, memory.public), newClient(t, nothing.public)
			password := newPassword()
			a.want(a.register("paula", password), 201, "")

			// On a machine that stands still too few are answered, and it is done again.
			for polls := 0; polls < 3; {
				polls = pollUntilIdle(t, a, b, password, idle)
			}

			// The same request without the header, or with another value, is a use.
			for _, edit := range []func(*testing.T, *client, string) answer{
				func(_ *testing.T, c *client, token string) answer { return c.me(token) },
				func(_ *testing.T, c *client, token string) answer {
					return c.do("GET", "/v1/me", "", bearer(token), header(flakepass.PassiveHeader, "0"))
				},
			} {
				token, seen := loginOf(t, a, password)
				testenv.Eventually(t, patience, func() bool {
					got := edit(t, a, token)
					if got.status == 401 { // a machine that stood still
						token, seen = loginOf(t, a, password)
						return false
					}
					return lastSeen(t, got).After(seen)
				}, "a use does not count")
			}
		})
	}
}

func loginOf(t *testing.T, c *client, password string) (token string, seen time.Time) {
	t.Helper()
	token = c.login("paula", password)
	return token, lastSeen(t, c.want(c.do("GET", "/v1/me", "", bearer(token), header(flakepass.PassiveHeader, "1")), 200, ""))
}

// pollUntilIdle logs in and asks passively, one instance for the person and the
// other for a proxy, until the login is idle. It returns how often it was alive.
func pollUntilIdle(t *testing.T, a, b *client, password string, idle time.Duration) (polls int) {
	t.Helper()
	token, seen := loginOf(t, a, password)
	passive := header(flakepass.PassiveHeader, "1")
	for end := seen.Add(idle + time.Millisecond); ; polls++ { // what is told is rounded to the millisecond
		asked := time.Now()
		got := a.do("GET", "/v1/me", "", bearer(token), passive)
		if other := b.do("GET", "/v1/verify", "", bearer(token), passive); other.status == 200 {
			left, err := strconv.Atoi(other.header.Get(flakepass.IdleExpiresInHeader))
			if err != nil || time.Duration(left)*time.Second > end.Sub(asked) {
				t.Fatalf("%q seconds are left, %v; want at most %v", other.header.Get(flakepass.IdleExpiresInHeader), err, end.Sub(asked))
			}
		}
		if got.status == 401 {
			a.want(got, 401, "token_idle_timeout")
			b.want(b.do("GET", "/v1/verify", "", bearer(token), passive), 401, "token_idle_timeout")
			return polls
		}
		a.want(got, 200, "")
		if at := lastSeen(t, got); !at.Equal(seen) {
			t.Fatalf("last seen moved from %v to %v by a passive request", seen, at)
		}
		if asked.After(end) {
			t.Fatalf("alive %v after the last use, and the idle timeout is %v", asked.Sub(seen), idle)
		}
	}
}

func lastSeen(t *testing.T, a answer) time.Time {
	t.Helper()
	s, _ := a.fields["session"].(map[string]any)
	text, _ := s["last_seen_at"].(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
