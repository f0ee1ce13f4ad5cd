//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// An instance is one process of the program, and its links.
type instance struct {
	name     string
	base     string // http://host:port, the same for all its lives
	process  server.Process
	database *faultproxy.Proxy // nil with SQLite
	redis    *faultproxy.Proxy // nil without Redis
	away     atomic.Bool       // killed or standing still; people may ask it all the same
}

// addInstance makes an instance ready; it does not run yet.
func (w *world) addInstance(ctx context.Context, n int, program, data string) (err error) {
	port, err := server.FreePort(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(w.dir, fmt.Sprint("instance", n))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	i := &instance{name: fmt.Sprint("instance ", n), base: "http://" + address}
	url, redis := w.database.url(""), ""
	if w.database.addr != "" {
		if i.database, err = faultproxy.Open(w.database.at(n)); err != nil {
			return err
		}
		w.closers = append(w.closers, i.database.Close)
		url = w.database.url(i.database.Addr)
	}
	if w.redis != "" {
		if i.redis, err = faultproxy.Open(w.redis); err != nil {
			return err
		}
		w.closers = append(w.closers, i.redis.Close)
		redis = i.redis.Addr
	}
	i.process = server.Process{Path: program, Args: []string{"serve"}, Dir: dir, Env: append(environment(w.bound, url, redis, data),
		"FLAKEPASS_LISTEN="+address, "FLAKEPASS_OPS_LISTEN=127.0.0.1:0")}
	w.closers = append(w.closers, func() {
		if i.process.Running() {
			_ = i.process.Kill()
		}
	})
	w.instances = append(w.instances, i)
	return nil
}

// environment is the settings of a process. Limits on attempts are off, for all
// people come from one address.
func environment(bound time.Duration, database, redis, data string) []string {
	// A setting of the shell that runs the campaign is none of its deployments.
	all := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FLAKEPASS_") || strings.HasPrefix(v, "GOGC=") })
	all = append(all, "FLAKEPASS_DATA_DIR="+data, "FLAKEPASS_DATABASE="+database, "FLAKEPASS_THROTTLE=off", "FLAKEPASS_SERVICE_PASSWORD_LOGIN=on",
		"FLAKEPASS_REVOCATION_BOUND="+bound.String(), "FLAKEPASS_LOG_LEVEL=warn")
	if redis != "" {
		all = append(all, "FLAKEPASS_REDIS=redis://"+redis)
	}
	return all
}

// start starts the process and returns when it answers.
func (w *world) start(ctx context.Context, i *instance) error {
	if err := i.process.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return i.process.Wait(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.base+"/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := w.http.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// shell is command for an act of the campaign: after 15 s it has got no answer.
func (w *world) shell(ctx context.Context, stdin string, args ...string) (out []byte, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return w.command(ctx, stdin, args...)
}

// command runs a command of the program beside the instances, with links to the
// database and Redis that nothing breaks, and returns its standard output. ok
// says that it ended with 0.
func (w *world) command(ctx context.Context, stdin string, args ...string) (out []byte, ok bool, err error) {
	cmd := exec.CommandContext(ctx, w.program, args...) //nolint:gosec // the program that is tested
	cmd.Env = environment(w.bound, w.database.url(w.database.addr), w.redis, filepath.Join(w.dir, "data"))
	cmd.Stdin = strings.NewReader(stdin)
	out, err = cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return out, false, fmt.Errorf("flakepass %v: %w: %s", args, err, ended.Stderr)
	}
	return out, err == nil, err
}

// startRedis starts a Redis of the campaign's own.
func (w *world) startRedis(ctx context.Context) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("%w: %w", errAbsent, err)
	}
	port, err := server.FreePort(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(w.dir, "redis")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	p := &server.Process{Path: path, Args: server.RedisArgs(dir, port), Dir: dir}
	if err := p.Start(); err != nil {
		return err
	}
	w.closers = append(w.closers, func() { _ = p.Stop() })
	w.redis = fmt.Sprintf("127.0.0.1:%d", port)
	return p.Wait(ctx, func(ctx context.Context) error { return server.RedisReady(ctx, w.redis, p.PID()) })
}
