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

// redisOf is a connection to the deployment's Redis, without the program.
func redisOf(t testing.TB, d *e2e.Deployment) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: d.Redis.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// reads reports whether a statement asks for the login of a token.
func reads(statement string) bool {
	return strings.HasPrefix(statement, "SELECT") && strings.Contains(statement, "LEFT JOIN users ON token_id = ")
}

// TestLogoutVsFill: an instance has read from the database that a login lives, and
// the answer is on its way while the login ends elsewhere, and every instance has read
// of it. The answer revives it nowhere.
func TestLogoutVsFill(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(testing.TB) *e2e.Deployment{"Redis": e2e.OnMySQL, "no Redis": e2e.OnMySQLAlone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			proxy, through := e2e.Between(t, d)
			// The slow one may give up, answer 503 and log why.
			slow, here := e2e.NewClient(t, d.StartLoud(t, through...).Public), e2e.NewClient(t, d.Start(t).Public)
			password := e2e.NewPassword()
			here.Want(here.Register("ada", password), 201, "")
			token := here.Login("ada", password)
			judge, met := once(reads, e2e.LateReply)
			proxy.Decide(judge)
			answer := make(chan e2e.Answer, 1)
			go func() { answer <- slow.Me(token) }()
			testenv.Eventually(t, e2e.Patience, func() bool { return met.Load() == 1 }, "the slow one asks")
			// It has the truth of now, at the latest when another one has asked, too.
			here.Alive(token)
			here.Want(here.Logout(token), 204, "")
			ended := time.Now()
			testenv.Eventually(t, e2e.Patience, func() bool { return time.Since(ended) > 2*e2e.Bound }, "time stands still")
			proxy.Open()
			if a := <-answer; a.Status != 401 && a.Status != 503 {
				t.Errorf("asked before the logout, answered long after it was read: %d", a.Status)
			}
			for range 5 {
				slow.Dead(token, "token_logged_out")
				here.Dead(token, "token_logged_out")
			}
		})
	}
}

// TestPubSubFull: an instance does not read its messages, so Redis throws them
// away and it too. When it goes on, it knows better from its first answer.
func TestPubSubFull(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	rdb := redisOf(t, d)
	if err := rdb.ConfigSet(t.Context(), "client-output-buffer-limit", "pubsub 65536 0 0").Err(); err != nil {
		t.Fatal(err)
	}
	here := e2e.NewClient(t, d.Start(t).Public)
	slow := e2e.StartProcess(t, t.TempDir(), d.With())
	there := e2e.NewClient(t, slow.Public)
	password := e2e.NewPassword()
	here.Want(here.Register("ada", password), 201, "")
	token := here.Login("ada", password)
	there.Alive(token)
	listeners := func() int64 { return rdb.PubSubNumSub(t.Context(), "fp:ended").Val()["fp:ended"] }
	testenv.Eventually(t, e2e.Patience, func() bool { return listeners() == 2 }, "both listen")

	slow.Signal(t, syscall.SIGSTOP)
	noise := bytes.Repeat([]byte("x"), 1<<20)
	testenv.Eventually(t, e2e.Patience, func() bool {
		if err := rdb.Publish(t.Context(), "fp:ended", noise).Err(); err != nil {
			t.Fatal(err)
		}
		return listeners() < 2
	}, "Redis gives the slow one up")
	here.Want(here.Logout(token), 204, "")
	ended := time.Now()
	slow.Signal(t, syscall.SIGCONT)
	e2e.Soon(t, there, token, "token_logged_out", ended)
	for range 5 {
		there.Dead(token, "token_logged_out")
	}
}

// TestSetNXAppliedLate: an instance reads a login from the database and puts it
// into a Redis that stands still. The login ends, which Redis cannot receive.
// Then Redis goes on, with all that was sent to it, and says that the login lives.
func TestSetNXAppliedLate(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	proxy, through := e2e.Between(t, d)
	rdb := redisOf(t, d)
	slow, here, third := e2e.NewClient(t, d.Start(t, through...).Public), e2e.NewClient(t, d.Start(t).Public), e2e.NewClient(t, d.Start(t).Public)
	password := e2e.NewPassword()
	here.Want(here.Register("ada", password), 201, "")
	token := here.Login("ada", password)

	asked, hold := make(chan struct{}), make(chan struct{})
	var met atomic.Int32
	proxy.Decide(func(statement string) e2e.Fate {
		if reads(statement) && met.CompareAndSwap(0, 1) {
			close(asked)
			<-hold
		}
		return e2e.Passes
	})
	answer := make(chan e2e.Answer, 1)
	go func() { answer <- slow.Me(token) }()
	select {
	case <-asked: // Redis had nothing
	case <-time.After(e2e.Patience):
		t.Fatal("the slow one does not ask")
	}
	d.Redis.Pause()
	close(hold)
	slow.Want(<-answer, 200, "") // it has read the row, and had not answered
	here.Want(here.Logout(token), 202, "")
	ended := time.Now()
	here.Dead(token, "token_logged_out")
	d.Redis.Resume()
	for _, c := range []*e2e.Client{here, slow, third} {
		e2e.Soon(t, c, token, "token_logged_out", ended)
	}
	parsed, err := flakepass.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	late, err := rdb.Get(t.Context(), "fp:s:"+parsed.ID().String()).Result()
	t.Logf("Redis holds %d bytes, a tombstone: %v, %v", len(late), strings.Contains(late, "logged_out"), err)
	// Whatever Redis holds, also one that begins now does not believe it.
	e2e.NewClient(t, d.Start(t).Public).Dead(token, "token_logged_out")
}

// TestNegativePoison: a stranger who asks for a login before it is there, or with
// a wrong secret while it is, spoils nothing for its owner.
func TestNegativePoison(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQL(t)
	here, there := e2e.NewClient(t, d.Start(t).Public), e2e.NewClient(t, d.Start(t).Public)
	password := e2e.NewPassword()
	here.Want(here.Register("ada", password), 201, "")
	last, err := flakepass.ParseToken(here.Login("ada", password))
	if err != nil {
		t.Fatal(err)
	}
	// IDs to come, some of this instance's own next logins.
	for i := range 50 {
		guess := flakepass.NewToken(last.ID() + flakepass.ID(i+1)<<(i%23)).Reveal()
		here.Want(here.Me(guess), 401, "token_invalid")
		there.Want(there.Me(guess), 401, "token_invalid")
	}
	for range 3 {
		token := here.Login("ada", password)
		for _, c := range []*e2e.Client{here, there} {
			c.Dead(e2e.Forge(token), "token_invalid")
			c.Alive(token)
			c.Dead(e2e.Forge(token), "token_invalid")
			c.Want(c.Logout(e2e.Forge(token)), 204, "")
			c.Alive(token)
		}
		there.Want(there.Logout(token), 204, "")
		there.Dead(e2e.Forge(token), "token_invalid") // and learns nothing of why
		there.Dead(token, "token_logged_out")
	}
}
