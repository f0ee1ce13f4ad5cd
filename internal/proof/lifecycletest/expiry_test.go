package lifecycletest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// expiry shortens the policy under living logins. The row is changed as an
// operator's tool does it: with a new version.
func expiry(t *testing.T, w *world) {
	c, db := w.client(t, w.a), w.SQL(t)
	password := e2e.NewPassword()
	c.Want(c.Register("frank", password), 201, "")
	version := 1
	policy := func(idle, absolute time.Duration, schedule string) {
		t.Helper()
		version++
		// The bases first: they keep what the timeouts of before have ended.
		now := time.Now().UnixMilli()
		for _, kind := range []struct{ base, timeout string }{
			{"idle_base", "idle_timeout_ms"}, {"absolute_base", "absolute_lifetime_ms"},
		} {
			e2e.Execute(t, db, "UPDATE settings SET "+kind.base+" = ? - "+kind.timeout+" WHERE scope = 'global' AND "+
				kind.base+" < ? - "+kind.timeout, now, now)
		}
		e2e.Execute(t, db, "UPDATE settings SET version = ?, touch_interval_ms = 100, idle_timeout_ms = ?, absolute_lifetime_ms = ?, "+
			"sweep_schedule = ? WHERE scope = 'global'", version, idle.Milliseconds(), absolute.Milliseconds(), schedule)
		for _, i := range []*e2e.Instance{w.a, w.b} {
			line := `"policy changed" version=` + strconv.Itoa(version) + " "
			testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(i.Log.String(), line) }, "the new policy is not in force")
		}
	}
	// later waits until so much time has passed since then: what is tested is
	// that time passes.
	later := func(since time.Time, d time.Duration) {
		t.Helper()
		testenv.Eventually(t, e2e.Patience, func() bool { return time.Since(since) > d }, "time stands still")
	}
	swept := func() {
		t.Helper()
		testenv.Eventually(t, e2e.Patience, func() bool {
			return e2e.Count(t, db, "SELECT COUNT(*) FROM users WHERE username = 'frank' AND token_id IS NULL") == 1
		}, "the sweep has not cleared the row")
	}
	const short, long = 1500 * time.Millisecond, time.Hour
	const never = "0 0 1 1 *"

	token := c.Login("frank", password)
	c.Alive(token)
	used := time.Now()
	policy(short, long, never)
	later(used, short)
	c.Dead(token, "token_idle_timeout")
	c.Dead(token, "token_idle_timeout")
	c.Want(c.Logout(token), 204, "")

	// Used again and again, a login lives on beyond the idle timeout. On a
	// machine that stands still in between it does not, and there is a new one.
	token = c.Login("frank", password)
	for begun, last := time.Now(), time.Now(); time.Since(begun) < 2*short; {
		asked := time.Now()
		switch a := c.Me(token); {
		case a.Status == 200:
			last = asked
		case time.Since(last) > short-200*time.Millisecond:
			token = c.Login("frank", password)
			begun, last = time.Now(), time.Now()
		default:
			t.Fatalf("used %v ago, and refused with %q", time.Since(last), a.Field("code"))
		}
	}
	used = time.Now()
	later(used, short)
	c.Dead(token, "token_idle_timeout")
	policy(short, long, "@every 1s")
	swept()
	c.Dead(token, "token_idle_timeout")
	w.client(t, w.b).Dead(token, "token_idle_timeout")
	policy(long, long, never)
	c.Dead(token, "token_idle_timeout") // longer timeouts revive nothing that was swept

	token = c.Login("frank", password)
	begun := time.Now()
	c.Alive(token)
	policy(short, short, never)
	later(begun, short)
	c.Dead(token, "token_expired")
	w.client(t, w.b).Dead(token, "token_expired")
	c.Want(c.Logout(token), 204, "")
	policy(short, short, "@every 1s")
	swept()
	c.Dead(token, "token_expired")
	policy(long, long, never)
	c.Dead(token, "token_expired")
}
