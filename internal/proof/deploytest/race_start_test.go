package deploytest

import (
	"bytes"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A value is what Redis holds of the login of a token, to be put back later.
type value struct {
	key  string
	text []byte
}

// remembered logs in, until Redis holds the login: an instance gives Redis up when
// the machine stands still for a moment, and goes on without.
func remembered(t testing.TB, c *e2e.Client, rdb *redis.Client, name, password string) (token string, v value) {
	t.Helper()
	testenv.Eventually(t, e2e.Patience, func() bool {
		token = c.Login(name, password)
		c.Alive(token)
		parsed, err := flakepass.ParseToken(token)
		if err != nil {
			t.Fatal(err)
		}
		v.key = "fp:s:" + parsed.ID().String()
		v.text, err = rdb.Get(t.Context(), v.key).Bytes()
		return err == nil
	}, "Redis holds a login")
	return token, v
}

// putBack makes Redis say again what it said, as a replica does that is behind.
func (v value) putBack(t testing.TB, rdb *redis.Client) {
	t.Helper()
	now, err := rdb.Get(t.Context(), v.key).Bytes()
	if err != nil || bytes.Equal(now, v.text) {
		t.Fatalf("no tombstone in Redis: %v", err)
	}
	if err := rdb.Set(t.Context(), v.key, v.text, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
}

// polls reports whether a statement is a question of the feed.
func polls(statement string) bool { return strings.Contains(statement, "token_floor_at >=") }

// TestBootWithoutFeed: an instance that has not read one end since it was
// started believes nothing that lies in Redis, and asks.
func TestBootWithoutFeed(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	proxy, through := e2e.Between(t, d)
	rdb := redisOf(t, d)
	here := e2e.NewClient(t, d.Start(t).Public)
	password := e2e.NewPassword()
	here.Want(here.Register("ada", password), 201, "")
	token, believed := remembered(t, here, rdb, "ada", password)
	here.Want(here.Logout(token), 204, "")
	believed.putBack(t, rdb)

	var deaf atomic.Int32
	proxy.Decide(func(statement string) e2e.Fate {
		if polls(statement) {
			deaf.Add(1)
			return e2e.NeverSent
		}
		return e2e.Passes
	})
	there := e2e.NewClient(t, d.Start(t, through...).Public)
	testenv.Eventually(t, e2e.Patience, func() bool {
		there.Dead(token, "token_logged_out")
		return deaf.Load() >= 3
	}, "the instance polls, in vain")
	fresh := here.Login("ada", password)
	there.Alive(fresh) // it answers, from the database
	proxy.Pass()
	there.Dead(token, "token_logged_out")
}

// TestRestartAll kills every instance at once. What they had remembered of ends is
// gone, and Redis has lost a tombstone; the first answer of each is right.
func TestRestartAll(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	rdb := redisOf(t, d)
	startAll := func() (all []*e2e.Process) {
		for range 3 {
			all = append(all, e2e.StartProcess(t, t.TempDir(), d.With()))
		}
		return all
	}
	all := startAll()
	here := e2e.NewClient(t, all[0].Public)
	ada, bob := e2e.NewPassword(), e2e.NewPassword()
	here.Want(here.Register("ada", ada), 201, "")
	here.Want(here.Register("bob", bob), 201, "")
	dead, believed := remembered(t, here, rdb, "ada", ada)
	living := here.Login("bob", bob)
	for _, p := range all {
		c := e2e.NewClient(t, p.Public)
		c.Alive(dead)
		c.Alive(living)
	}
	here.Want(here.Logout(dead), 204, "")
	believed.putBack(t, rdb)
	for _, p := range all {
		p.Signal(t, syscall.SIGKILL)
	}
	for _, p := range all {
		<-p.Ended
	}
	for _, p := range startAll() {
		c := e2e.NewClient(t, p.Public)
		c.Dead(dead, "token_logged_out")
		c.Alive(living)
	}
}
