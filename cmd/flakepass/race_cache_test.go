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

// client is a connection to the deployment's Redis, without the program.
func (d *deployment) client(t testing.TB) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: d.redis.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// reads reports whether a statement asks for the login of a token.
func reads(statement string) bool {
	return strings.HasPrefix(statement, "SELECT") && strings.Contains(statement, "LEFT JOIN users ON token_id = ")
}

// TestLogoutVsFill: an instance was told by the database that a login lives, and
// the answer is on its way while the login ends elsewhere, and everybody has heard
// of it. The answer revives it nowhere.
func TestLogoutVsFill(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(testing.TB) *deployment{"Redis": onMySQL, "no Redis": onMySQLAlone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			proxy, through := between(t, d)
			slow, here := newClient(t, d.start(t, through...).public), newClient(t, d.start(t).public)
			password := newPassword()
			here.want(here.register("ada", password), 201, "")
			token := here.login("ada", password)
			judge, met := once(reads, lateReply)
			proxy.decide(judge)
			told := make(chan answer, 1)
			go func() { told <- slow.me(token) }()
			testenv.Eventually(t, patience, func() bool { return met.Load() == 1 }, "the slow one asks")
			// It has the truth of now, at the latest when another one has asked, too.
			here.alive(token)
			here.want(here.logout(token), 204, "")
			ended := time.Now()
			testenv.Eventually(t, patience, func() bool { return time.Since(ended) > 2*bound }, "time stands still")
			proxy.open()
			if a := <-told; a.status != 401 && a.status != 503 {
				t.Errorf("asked before the logout, answered long after it was heard of: %d", a.status)
			}
			for range 5 {
				slow.dead(token, "token_logged_out")
				here.dead(token, "token_logged_out")
			}
		})
	}
}

// TestPubSubFull: an instance does not read its messages, so Redis throws them
// away and it too. When it goes on, it knows better from its first answer.
func TestPubSubFull(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	rdb := d.client(t)
	if err := rdb.ConfigSet(t.Context(), "client-output-buffer-limit", "pubsub 65536 0 0").Err(); err != nil {
		t.Fatal(err)
	}
	here := newClient(t, d.start(t).public)
	slow := startProcess(t, t.TempDir(), d.with())
	there := newClient(t, slow.public)
	password := newPassword()
	here.want(here.register("ada", password), 201, "")
	token := here.login("ada", password)
	there.alive(token)
	listeners := func() int64 { return rdb.PubSubNumSub(t.Context(), "fp:ended").Val()["fp:ended"] }
	testenv.Eventually(t, patience, func() bool { return listeners() == 2 }, "both listen")

	slow.signal(t, syscall.SIGSTOP)
	noise := bytes.Repeat([]byte("x"), 1<<20)
	testenv.Eventually(t, patience, func() bool {
		if err := rdb.Publish(t.Context(), "fp:ended", noise).Err(); err != nil {
			t.Fatal(err)
		}
		return listeners() < 2
	}, "Redis gives the slow one up")
	here.want(here.logout(token), 204, "")
	ended := time.Now()
	slow.signal(t, syscall.SIGCONT)
	soon(t, there, token, "token_logged_out", ended)
	for range 5 {
		there.dead(token, "token_logged_out")
	}
}

// TestSetNXAppliedLate: an instance reads a login from the database and puts it
// into a Redis that stands still. The login ends, of which Redis cannot be told.
// Then Redis goes on, with all that was sent to it, and says that the login lives.
func TestSetNXAppliedLate(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	proxy, through := between(t, d)
	rdb := d.client(t)
	slow, here, third := newClient(t, d.start(t, through...).public), newClient(t, d.start(t).public), newClient(t, d.start(t).public)
	password := newPassword()
	here.want(here.register("ada", password), 201, "")
	token := here.login("ada", password)

	asked, hold := make(chan struct{}), make(chan struct{})
	var met atomic.Int32
	proxy.decide(func(statement string) fate {
		if reads(statement) && met.CompareAndSwap(0, 1) {
			close(asked)
			<-hold
		}
		return passes
	})
	told := make(chan answer, 1)
	go func() { told <- slow.me(token) }()
	<-asked // Redis had nothing
	d.redis.Pause()
	close(hold)
	slow.want(<-told, 200, "") // and was told, and has not answered
	here.want(here.logout(token), 202, "")
	ended := time.Now()
	here.dead(token, "token_logged_out")
	d.redis.Resume()
	for _, c := range []*client{here, slow, third} {
		soon(t, c, token, "token_logged_out", ended)
	}
	parsed, err := flakepass.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	late, err := rdb.Get(t.Context(), "fp:s:"+parsed.ID().String()).Result()
	t.Logf("Redis holds %d bytes, a tombstone: %v, %v", len(late), strings.Contains(late, "logged_out"), err)
	// Whatever Redis holds, also one that begins now does not believe it.
	newClient(t, d.start(t).public).dead(token, "token_logged_out")
}

// TestNegativePoison: a stranger who asks for a login before it is there, or with
// a wrong secret while it is, spoils nothing for its owner.
func TestNegativePoison(t *testing.T) {
	t.Parallel()
	d := onMySQL(t)
	here, there := newClient(t, d.start(t).public), newClient(t, d.start(t).public)
	password := newPassword()
	here.want(here.register("ada", password), 201, "")
	last, err := flakepass.ParseToken(here.login("ada", password))
	if err != nil {
		t.Fatal(err)
	}
	// IDs to come, some of this instance's own next logins.
	for i := range 50 {
		guess := flakepass.NewToken(last.ID() + flakepass.ID(i+1)<<(i%23)).Reveal()
		here.want(here.me(guess), 401, "token_invalid")
		there.want(there.me(guess), 401, "token_invalid")
	}
	for range 3 {
		token := here.login("ada", password)
		for _, c := range []*client{here, there} {
			c.dead(forge(token), "token_invalid")
			c.alive(token)
			c.dead(forge(token), "token_invalid")
			c.want(c.logout(forge(token)), 204, "")
			c.alive(token)
		}
		there.want(there.logout(token), 204, "")
		there.dead(forge(token), "token_invalid") // and learns nothing of why
		there.dead(token, "token_logged_out")
	}
}
