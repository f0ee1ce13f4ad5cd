package main

import (
	"bytes"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A value is what Redis holds of the login of a token, to be put back later.
type value struct {
	key  string
	text []byte
}

// remembered logs in, until Redis holds the login: an instance gives Redis up when
// the machine stands still for a moment, and goes on without.
func remembered(t testing.TB, c *client, rdb *redis.Client, name, password string) (token string, v value) {
	t.Helper()
	testenv.Eventually(t, patience, func() bool {
		token = c.login(name, password)
		c.alive(token)
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

// TestBootWithoutFeed: an instance that has not heard of one end since it was
// started believes nothing that lies in Redis, and asks.
func TestBootWithoutFeed(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	proxy, through := between(t, d)
	rdb := d.client(t)
	here := newClient(t, d.start(t).public)
	password := newPassword()
	here.want(here.register("ada", password), 201, "")
	token, believed := remembered(t, here, rdb, "ada", password)
	here.want(here.logout(token), 204, "")
	believed.putBack(t, rdb)

	var deaf atomic.Int32
	proxy.decide(func(statement string) fate {
		if polls(statement) {
			deaf.Add(1)
			return neverSent
		}
		return passes
	})
	there := newClient(t, d.start(t, through...).public)
	testenv.Eventually(t, patience, func() bool {
		there.dead(token, "token_logged_out")
		return deaf.Load() >= 3
	}, "the instance polls, in vain")
	fresh := here.login("ada", password)
	there.alive(fresh) // it answers, from the database
	proxy.pass()
	there.dead(token, "token_logged_out")
}

// TestRestartAll kills every instance at once. What they had remembered of ends is
// gone, and Redis has lost a tombstone; the first answer of each is right.
func TestRestartAll(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	rdb := d.client(t)
	startAll := func() (all []*process) {
		for range 3 {
			all = append(all, startProcess(t, t.TempDir(), d.with()))
		}
		return all
	}
	all := startAll()
	here := newClient(t, all[0].public)
	ada, bob := newPassword(), newPassword()
	here.want(here.register("ada", ada), 201, "")
	here.want(here.register("bob", bob), 201, "")
	dead, believed := remembered(t, here, rdb, "ada", ada)
	living := here.login("bob", bob)
	for _, p := range all {
		c := newClient(t, p.public)
		c.alive(dead)
		c.alive(living)
	}
	here.want(here.logout(dead), 204, "")
	believed.putBack(t, rdb)
	for _, p := range all {
		p.signal(t, syscall.SIGKILL)
	}
	for _, p := range all {
		<-p.ended
	}
	for _, p := range startAll() {
		c := newClient(t, p.public)
		c.dead(dead, "token_logged_out")
		c.alive(living)
	}
}
