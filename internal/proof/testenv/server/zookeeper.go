//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ZooKeeperJar is where Debian's libzookeeper-java puts the server. It names
// the jars that it needs itself.
const ZooKeeperJar = "/usr/share/java/zookeeper.jar"

// ZooKeeperArgs returns the arguments of java for a ZooKeeper on port of
// 127.0.0.1 that keeps its data in dir, where the configuration file is
// written. A tick is half a second, so sessions may be as short as one second.
// It is a server for tests in size only: every write is on the disk before it
// is acknowledged.
func ZooKeeperArgs(dir string, port int) ([]string, error) {
	conf := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%d\n"+
		"admin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n", filepath.Join(dir, "data"), port)
	file := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	return []string{
		// Java does not look at TMPDIR, and leaves a file of figures in /tmp.
		"-Djava.io.tmpdir=" + filepath.Join(dir, "tmp"), "-XX:-UsePerfData",
		"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dzookeeper.preAllocSize=64",
		"-cp", ZooKeeperJar, "org.apache.zookeeper.server.ZooKeeperServerMain", file,
	}, nil
}

// ZooKeeperReady returns nil if the ZooKeeper at addr answers within a second
// and keeps its data in dir: a stranger may have taken the port first.
func ZooKeeperReady(ctx context.Context, addr, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conf, err := zooKeeperWord(ctx, addr, "conf")
	if err != nil {
		return fmt.Errorf("server: ask zookeeper: %w", err)
	}
	if !strings.Contains(conf, "dataDir="+filepath.Join(dir, "data")+"/") {
		return fmt.Errorf("server: zookeeper at %s does not keep its data in %s: answer %q", addr, dir, conf)
	}
	return nil
}

// zooKeeperWord sends one of the four-letter words and returns the answer.
func zooKeeperWord(ctx context.Context, addr, word string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && len(answer) == 0 {
		err = errors.New("no answer")
	}
	return string(answer), err
}
