package deploytest

import (
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestLogoutOverSentinel: two instances share a Redis that sentinels watch, and
// go on when it loses its master.
func TestLogoutOverSentinel(t *testing.T) {
	t.Parallel()
	s := testenv.RedisSentinel(t)
	d := e2e.OnServer(t, testenv.MySQL(t), nil)
	d.Vars["FLAKEPASS_REDIS"] = s.URL()
	a, b := e2e.NewClient(t, d.Start(t).Public), e2e.NewClient(t, d.Start(t).Public)
	password := e2e.NewPassword()
	a.Want(a.Register("alice", password), 201, "")
	// The first command waits for the sentinels to name the master.
	testenv.Eventually(t, e2e.Patience, func() bool {
		return logoutReaches(t, a, b, "alice", password).Status == 204
	}, "messages go through Redis")
	if s.Master().Command("DBSIZE") == ":0\r\n" {
		t.Error("nothing is in Redis: it is not used")
	}

	s.Master().Kill()
	if answer := logoutReaches(t, a, b, "alice", password); answer.Status != 202 && answer.Status != 204 {
		t.Errorf("logout without a master: %d", answer.Status)
	}
	s.Await()
	testenv.Eventually(t, e2e.Patience, func() bool {
		return logoutReaches(t, a, b, "alice", password).Status == 204 &&
			logoutReaches(t, b, a, "alice", password).Status == 204
	}, "messages of both go through the new master")
}
