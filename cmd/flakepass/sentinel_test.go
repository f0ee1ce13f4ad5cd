package main

import (
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestLogoutOverSentinel: two instances share a Redis that sentinels watch, and
// go on when it loses its master.
func TestLogoutOverSentinel(t *testing.T) {
	t.Parallel()
	s := testenv.RedisSentinel(t)
	d := onServer(t, testenv.MySQL(t), nil)
	d.vars["FLAKEPASS_REDIS"] = s.URL()
	a, b := newClient(t, d.start(t).public), newClient(t, d.start(t).public)
	password := newPassword()
	a.want(a.register("alice", password), 201, "")
	// The first command waits for the sentinels to name the master.
	testenv.Eventually(t, patience, func() bool {
		return logoutReaches(t, a, b, "alice", password).status == 204
	}, "Redis is told")
	if s.Master().Command("DBSIZE") == ":0\r\n" {
		t.Error("nothing is in Redis: it is not used")
	}

	s.Master().Kill()
	if told := logoutReaches(t, a, b, "alice", password); told.status != 202 && told.status != 204 {
		t.Errorf("logout without a master: %d", told.status)
	}
	s.Await()
	testenv.Eventually(t, patience, func() bool {
		return logoutReaches(t, a, b, "alice", password).status == 204 &&
			logoutReaches(t, b, a, "alice", password).status == 204
	}, "the new master is told, by both")
}
