package deploytest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestGuessesAreCountedByAllInstances, and refused unchecked: by account and
// place, also for names that no account has. A device that was logged in before gets
// past what strangers have used up.
func TestGuessesAreCountedByAllInstances(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	on := []string{"FLAKEPASS_THROTTLE", "on", "FLAKEPASS_TRUSTED_PROXIES", "127.0.0.1"}
	a, b := d.Start(t, on...), d.Start(t, on...)
	clients := []*e2e.Client{e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public)}
	from := func(address string) func(c *e2e.Client, name, password string) e2e.Answer {
		return func(c *e2e.Client, name, password string) e2e.Answer {
			return c.Do("POST", "/v1/login", e2e.Object("username", name, "password", password), e2e.Header("X-Forwarded-For", address))
		}
	}
	password := e2e.NewPassword()
	clients[0].Want(clients[0].Do("POST", "/v1/register", e2e.Object("username", "ada", "password", password), e2e.Header("X-Forwarded-For", "192.0.2.9")), 201, "")

	// A machine that stands still has an instance count by itself for a while, or
	// gives an attempt back after twelve seconds. Then it is done again from elsewhere.
	refused := func(name, address string) bool {
		guess := from(address)
		for i := range 5 {
			clients[i%2].Want(guess(clients[i%2], []string{name, strings.ToUpper(name)}[i%2], "wrong password, all of them"), 401, "credentials_invalid")
		}
		for i, c := range clients {
			got := guess(c, name, password)
			if got.Status != 429 {
				return false
			}
			wait, err := strconv.Atoi(c.Want(got, 429, "rate_limited").Header.Get("Retry-After"))
			if err != nil || wait < 1 || wait > 60 || got.Header.Get("RateLimit-Policy") != `"login-place";q=5;w=60` ||
				!strings.HasPrefix(got.Header.Get("RateLimit"), `"login-place";r=0;t=`) {
				t.Errorf("instance %d, %s: %v", i, name, got.Header)
			}
		}
		return true
	}
	for _, name := range []string{"ada", "nobody"} {
		place := 100
		testenv.Eventually(t, e2e.Patience, func() bool {
			place++
			return refused(name, "192.0.2."+strconv.Itoa(place))
		}, "one instance refuses what the other has counted")
	}
	// A user who shares nothing with the guesser does not notice.
	home := from("192.0.2.2")
	token := clients[1].Want(home(clients[1], "ada", password), 200, "").Field("token")

	// A hundred strangers, of seven networks, use up what the account has.
	stranger := func(i int) func(c *e2e.Client, name, password string) e2e.Answer {
		return from(fmt.Sprintf("203.0.%d.%d", i/18, i))
	}
	for i := range 110 {
		if got := stranger(i)(clients[i%2], "ada", "wrong password, all of them"); got.Status != 401 && got.Status != 429 {
			t.Fatalf("got %d", got.Status)
		}
	}
	// Those that an instance counted by itself are made up for.
	more := 110
	testenv.Eventually(t, e2e.Patience, func() bool {
		more++
		return stranger(more)(clients[0], "ada", "wrong password, all of them").Status == 429
	}, "the account is used up")
	elsewhere := from("198.51.100.1")
	if got := clients[0].Want(elsewhere(clients[0], "ada", password), 429, "rate_limited"); !strings.HasPrefix(got.Header.Get("RateLimit-Policy"), `"login-account"`) {
		t.Errorf("refused by %s", got.Header.Get("RateLimit-Policy"))
	}
	clients[1].Want(home(clients[1], "ada", password), 200, "") // a place that is known
	// The login before is the one that the device has the token of.
	clients[0].Want(clients[0].Do("POST", "/v1/login", e2e.Object("username", "ada", "password", "wrong password, all of them"),
		e2e.Header("X-Forwarded-For", "198.51.100.2"), e2e.Bearer(token)), 401, "credentials_invalid")

	if !strings.Contains(a.Log.String()+b.Log.String(), `reason="rate_limited: login-account"`) {
		t.Error("the log does not report the limit")
	}
	if !bytes.Contains(e2e.Metrics(t, a.Ops), []byte(`flakepass_throttled_total{policy="login-place"}`)) {
		t.Error("no metric counts the limit")
	}
}

// TestGuessesAreCountedTogetherWithoutACache: that nothing is cached is no
// reason for each instance to count by itself.
func TestGuessesAreCountedTogetherWithoutACache(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	d.Vars["FLAKEPASS_REDIS"] = testenv.Redis(t).URL()
	on := []string{"FLAKEPASS_THROTTLE", "on", "FLAKEPASS_CACHE_ENTRIES", "0"}
	a, b := e2e.NewClient(t, d.Start(t, on...).Public), e2e.NewClient(t, d.Start(t, on...).Public)
	// On a machine that stands still one may count by itself for a while.
	for try := range 10 {
		name := "nobody" + strconv.Itoa(try)
		for range 5 {
			a.Want(a.TryLogin(name, "wrong password, all of them"), 401, "credentials_invalid")
		}
		if got := b.TryLogin(name, "wrong password, all of them"); got.Status == 429 {
			b.Want(got, 429, "rate_limited")
			return
		}
	}
	t.Error("ten times, one instance did not know what the other had counted")
}

// TestRegistrationsAreLimited for each address: those that ask for a name, taken or
// not, and not those that no account can come of.
func TestRegistrationsAreLimited(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	c := e2e.NewClient(t, d.Start(t, "FLAKEPASS_THROTTLE", "on").Public)
	refused, password := 0, e2e.NewPassword()
	for range 31 { // one account, and then a name that is taken, which costs no hash
		c.Want(c.Do("POST", "/v1/register", e2e.Object("username", "x", "password", "short")), 422, "validation_failed")
		if a := c.Register("ada", password); a.Status == 429 {
			refused++
			c.Want(a, 429, "rate_limited")
		}
	}
	if refused != 1 {
		t.Errorf("%d of 31 refused, want 1", refused)
	}
}

// TestGuessesAreCountedWithoutRedis: neither is there no limit, nor are all
// refused.
func TestGuessesAreCountedWithoutRedis(t *testing.T) {
	t.Parallel()
	redis := testenv.Redis(t)
	d := e2e.OnServer(t, testenv.MySQL(t), redis)
	c := e2e.NewClient(t, d.StartLoud(t, "FLAKEPASS_THROTTLE", "on").Public)
	password := e2e.NewPassword()
	c.Want(c.Register("ada", password), 201, "")
	c.Want(c.Register("bob", password), 201, "")
	redis.Stop()
	for range 5 {
		c.Want(c.TryLogin("ada", "wrong password, all of them"), 401, "credentials_invalid")
	}
	c.Want(c.TryLogin("ada", password), 429, "rate_limited")
	c.Want(c.TryLogin("bob", password), 200, "")
}
