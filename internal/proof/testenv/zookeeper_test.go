//go:build unix

package testenv_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestZooKeeperKeepsWhatItAcknowledged is what tests that kill one rely on.
func TestZooKeeperKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	z := testenv.OwnZooKeeper(t)
	conn, _, err := zk.Connect([]string{z.Addr}, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/kept", []byte("v"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	z.Kill()
	z.Start()
	testenv.Eventually(t, 2*time.Minute, func() bool {
		b, _, err := conn.Get("/kept")
		return err == nil && string(b) == "v"
	}, "the node is there after kill -9")
}

type silent struct{}

func (silent) Printf(string, ...any) {}
