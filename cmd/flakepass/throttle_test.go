package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestGuessesAreCountedByAllInstances, and refused unchecked: by account and
// place, also for names that nobody has. A device that was logged in before gets
// past what strangers have used up.
func TestGuessesAreCountedByAllInstances(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	on := []string{"FLAKEPASS_THROTTLE", "on", "FLAKEPASS_TRUSTED_PROXIES", "127.0.0.1"}
	a, b := d.start(t, on...), d.start(t, on...)
	clients := []*client{newClient(t, a.public), newClient(t, b.public)}
	from := func(address string) func(c *client, name, password string) answer {
		return func(c *client, name, password string) answer {
			return c.do("POST", "/v1/login", object("username", name, "password", password), header("X-Forwarded-For", address))
		}
	}
	password := newPassword()
	clients[0].want(clients[0].do("POST", "/v1/register", object("username", "ada", "password", password), header("X-Forwarded-For", "192.0.2.9")), 201, "")

	// A machine that stands still has an instance count by itself for a while, or
	// gives an attempt back after twelve seconds. Then it is done again from elsewhere.
	refused := func(name, address string) bool {
		guess := from(address)
		for i := range 5 {
			clients[i%2].want(guess(clients[i%2], []string{name, strings.ToUpper(name)}[i%2], "wrong password, all of them"), 401, "credentials_invalid")
		}
		for i, c := range clients {
			got := guess(c, name, password)
			if got.status != 429 {
				return false
			}
			wait, err := strconv.Atoi(c.want(got, 429, "rate_limited").header.Get("Retry-After"))
			if err != nil || wait < 1 || wait > 60 || got.header.Get("RateLimit-Policy") != `"login";q=5;w=60` ||
				!strings.HasPrefix(got.header.Get("RateLimit"), `"login";r=0;t=`) {
				t.Errorf("instance %d, %s: %v", i, name, got.header)
			}
		}
		return true
	}
	for _, name := range []string{"ada", "nobody"} {
		place := 100
		testenv.Eventually(t, patience, func() bool {
			place++
			return refused(name, "192.0.2."+strconv.Itoa(place))
		}, "one instance refuses what the other has counted")
	}
	// Whoever shares nothing with the guesser does not notice.
	home := from("192.0.2.2")
	token := clients[1].want(home(clients[1], "ada", password), 200, "").field("token")

	// A hundred strangers, of seven networks, use up what the account has.
	stranger := func(i int) func(c *client, name, password string) answer {
		return from(fmt.Sprintf("203.0.%d.%d", i/18, i))
	}
	for i := range 110 {
		if got := stranger(i)(clients[i%2], "ada", "wrong password, all of them"); got.status != 401 && got.status != 429 {
			t.Fatalf("got %d", got.status)
		}
	}
	// Those that an instance counted by itself are made up for.
	more := 110
	testenv.Eventually(t, patience, func() bool {
		more++
		return stranger(more)(clients[0], "ada", "wrong password, all of them").status == 429
	}, "the account is used up")
	elsewhere := from("198.51.100.1")
	if got := clients[0].want(elsewhere(clients[0], "ada", password), 429, "rate_limited"); !strings.HasPrefix(got.header.Get("RateLimit-Policy"), `"login-account"`) {
		t.Errorf("refused by %s", got.header.Get("RateLimit-Policy"))
	}
	clients[1].want(home(clients[1], "ada", password), 200, "") // a place that is known
	// The login before is the one that the device has the token of.
	clients[0].want(clients[0].do("POST", "/v1/login", object("username", "ada", "password", "wrong password, all of them"),
		header("X-Forwarded-For", "198.51.100.2"), bearer(token)), 401, "credentials_invalid")

	if !strings.Contains(a.log.String()+b.log.String(), `reason="rate_limited: login-account"`) {
		t.Error("the log does not tell of the limit")
	}
	if !bytes.Contains(metrics(t, a.ops), []byte(`flakepass_throttled_total{policy="login"}`)) {
		t.Error("no metric tells of the limit")
	}
}

// TestGuessesAreCountedTogetherWithoutACache: that nothing is cached is no
// reason for each instance to count by itself.
func TestGuessesAreCountedTogetherWithoutACache(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	d.vars["FLAKEPASS_REDIS"] = testenv.Redis(t).URL()
	on := []string{"FLAKEPASS_THROTTLE", "on", "FLAKEPASS_CACHE_ENTRIES", "0"}
	a, b := newClient(t, d.start(t, on...).public), newClient(t, d.start(t, on...).public)
	// On a machine that stands still one may count by itself for a while.
	for try := range 10 {
		name := "nobody" + strconv.Itoa(try)
		for range 5 {
			a.want(a.tryLogin(name, "wrong password, all of them"), 401, "credentials_invalid")
		}
		if got := b.tryLogin(name, "wrong password, all of them"); got.status == 429 {
			b.want(got, 429, "rate_limited")
			return
		}
	}
	t.Error("ten times, one instance did not know what the other had counted")
}

// TestRegistrationsAreLimited for each address: those that ask for a name, taken or
// not, and not those that no account can come of.
func TestRegistrationsAreLimited(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	c := newClient(t, d.start(t, "FLAKEPASS_THROTTLE", "on").public)
	refused, password := 0, newPassword()
	for range 31 { // one account, and then a name that is taken, which costs no hash
		c.want(c.do("POST", "/v1/register", object("username", "x", "password", "short")), 422, "validation_failed")
		if a := c.register("ada", password); a.status == 429 {
			refused++
			c.want(a, 429, "rate_limited")
		}
	}
	if refused != 1 {
		t.Errorf("%d of 31 refused, want 1", refused)
	}
}

// TestGuessesAreCountedWithoutRedis: neither is there no limit, nor is everybody
// refused.
func TestGuessesAreCountedWithoutRedis(t *testing.T) {
	t.Parallel()
	redis := testenv.Redis(t)
	d := onServer(t, testenv.MySQL(t), redis)
	c := newClient(t, d.startLoud(t, "FLAKEPASS_THROTTLE", "on").public)
	password := newPassword()
	c.want(c.register("ada", password), 201, "")
	c.want(c.register("bob", password), 201, "")
	redis.Stop()
	for range 5 {
		c.want(c.tryLogin("ada", "wrong password, all of them"), 401, "credentials_invalid")
	}
	c.want(c.tryLogin("ada", password), 429, "rate_limited")
	c.want(c.tryLogin("bob", password), 200, "")
}
