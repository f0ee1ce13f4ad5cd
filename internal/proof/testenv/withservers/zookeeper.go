//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

func prepareZooKeeper(ctx context.Context, dir string) (plan, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return plan{}, fmt.Errorf("java: %w", errAbsent)
	}
	if _, err := os.Stat(server.ZooKeeperJar); err != nil {
		return plan{}, fmt.Errorf("%s: %w", server.ZooKeeperJar, errAbsent)
	}
	version, err := output(ctx, path, "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-cp", server.ZooKeeperJar, "org.apache.zookeeper.version.VersionInfoMain")
	if err != nil {
		return plan{}, err
	}
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "Apache ZooKeeper, version "), "\n")
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	return plan{
		version: "zookeeper " + version,
		path:    path,
		args:    func(port int) ([]string, error) { return server.ZooKeeperArgs(dir, port) },
		address: address,
		ready: func(ctx context.Context, port, _ int) error {
			return server.ZooKeeperReady(ctx, address(port), dir)
		},
	}, nil
}
