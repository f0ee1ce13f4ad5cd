//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// errAbsent is wrapped by the error of a program that is not installed.
var errAbsent = errors.New(`not installed; "make install-servers" installs it`)

// A kind of server says how one is made ready.
type kind struct {
	name     string // as -only names it
	variable string // where the tests look for its address

	// prepare finds the program and makes its data folder in dir.
	prepare func(ctx context.Context, dir string) (plan, error)
}

// A plan is a server that could be started, on any port.
type plan struct {
	version string
	path    string
	args    func(port int) ([]string, error)
	hasty   []string // more arguments, for a server that need not keep anything
	address func(port int) string
	ready   func(ctx context.Context, port, pid int) error
}

func kinds() []kind {
	return []kind{
		{"mysql", "FLAKEPASS_TEST_MYSQL", prepareMySQL},
		{"mariadb", "FLAKEPASS_TEST_MARIADB", prepareMariaDB},
		{"redis", "FLAKEPASS_TEST_REDIS", prepareRedis},
		{"zookeeper", "FLAKEPASS_TEST_ZOOKEEPER", prepareZooKeeper},
	}
}

// startAll starts the named servers at the same time and returns those that
// are up, also with an error: the caller has to end them.
func startAll(ctx context.Context, dir string, names []string, durable bool) ([]*running, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	type result struct {
		*running
		err error
	}
	var wanted []kind
	for _, name := range names {
		k, ok := kindOf(name)
		if !ok {
			return nil, fmt.Errorf("no server is called %q", name)
		}
		wanted = append(wanted, k)
	}
	results := make(chan result)
	for _, k := range wanted {
		go func() {
			r, err := startOne(ctx, filepath.Join(dir, k.name), k, durable)
			if err != nil {
				cancel() // the others need not wait for their full time
				err = fmt.Errorf("%s: %w", k.name, err)
			}
			results <- result{r, err}
		}()
	}
	var up []*running
	var first error // the others only say that they were cancelled
	for range wanted {
		switch r := <-results; {
		case r.err == nil:
			up = append(up, r.running)
		case first == nil:
			first = r.err
		}
	}
	return up, first
}

func kindOf(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// startOne starts a server on a free port, and on another if another took
// that port between the choice and the bind.
func startOne(ctx context.Context, dir string, k kind, durable bool) (*running, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p, err := k.prepare(ctx, dir)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		port, err := server.FreePort(ctx)
		if err != nil {
			return nil, err
		}
		args, err := p.args(port)
		if err != nil {
			return nil, err
		}
		if !durable {
			args = append(args, p.hasty...)
		}
		process := &server.Process{Path: p.path, Args: args, Dir: dir}
		if err := process.Start(); err != nil {
			return nil, err
		}
		err = process.Wait(ctx, func(ctx context.Context) error { return p.ready(ctx, port, process.PID()) })
		if err == nil {
			return &running{kind: k, version: p.version, address: p.address(port), process: process}, nil
		}
		if err = errors.Join(err, process.Stop()); try == 3 || ctx.Err() != nil {
			return nil, err
		}
	}
}
