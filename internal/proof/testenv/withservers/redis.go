//go:build unix

package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

func prepareRedis(ctx context.Context, dir string) (plan, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return plan{}, fmt.Errorf("redis-server: %w", errAbsent)
	}
	version, err := output(ctx, path, "--version")
	if err != nil {
		return plan{}, err
	}
	version, _, _ = strings.Cut(version, " sha=")
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	return plan{
		version: version,
		path:    path,
		args:    func(port int) ([]string, error) { return server.RedisArgs(dir, port), nil },
		address: func(port int) string { return "redis://" + address(port) },
		ready: func(ctx context.Context, port, pid int) error {
			return server.RedisReady(ctx, address(port), pid)
		},
	}, nil
}

// output runs a program to its end and returns what it printed, trimmed. The
// error carries what it printed to standard error.
func output(ctx context.Context, path string, args ...string) (string, error) {
	return finish(exec.CommandContext(ctx, path, args...))
}

// initialize runs a program that makes the data of a server, with scratch as the
// place for its temporary files.
func initialize(ctx context.Context, scratch, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	var err error
	if cmd.Env, err = server.Private(nil, scratch); err != nil {
		return err
	}
	_, err = finish(cmd)
	return err
}

// finish runs a program to its end, as output says.
func finish(cmd *exec.Cmd) (string, error) {
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd.Path, err, out.String(), complaint.String())
	}
	return strings.TrimSpace(out.String()), nil
}
