package redisstore_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

const (
	bound = 5 * time.Second
	// soon bounds the wait for what happens between processes.
	soon = time.Minute
)

// secret signs the values of these tests.
var secret = bytes.Repeat([]byte("k"), 32)

// open is one instance: a tier with a client of its own.
func open(t *testing.T, server *testenv.RedisServer, next session.Store, change ...func(*redisstore.Options)) *redisstore.Sessions {
	t.Helper()
	tier, _ := openClient(t, server, next, change...)
	return tier
}

func openClient(
	t *testing.T, server *testenv.RedisServer, next session.Store, change ...func(*redisstore.Options),
) (*redisstore.Sessions, redis.UniversalClient) {
	t.Helper()
	rdb := redisstore.Open(redisstore.Server{Addrs: []string{server.Addr}})
	t.Cleanup(func() { _ = rdb.Close() })
	o := redisstore.Options{Key: secret, Bound: bound}
	for _, c := range change {
		c(&o)
	}
	tier, err := redisstore.NewSessions(rdb, next, o)
	if err != nil {
		t.Fatal(err)
	}
	return tier, rdb
}

// admin is a client for looking at Redis, and for meddling.
func admin(t *testing.T, server *testenv.RedisServer) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// hashOf is that of the token of a session.
func hashOf(id idworker.ID) (h session.Hash) {
	copy(h[:], fmt.Sprintf("\x01hash of %v", id))
	return h
}

func alive(id idworker.ID) session.Session {
	return session.Session{
		ID: id, UserID: id + 1000, Username: "ada", Role: "user", Hash: hashOf(id), AsOf: time.Now(),
		Seen: time.UnixMilli(1_800_000_000_123).UTC(),
	}
}

func gone(id idworker.ID, why session.Reason) session.Session {
	s := alive(id)
	s.Ended = why
	return s
}

func mustGet(t *testing.T, tier *redisstore.Sessions, id idworker.ID, why session.Reason) session.Session {
	t.Helper()
	got, err := tier.Get(t.Context(), id, hashOf(id))
	if err != nil || got.Ended != why || got.ID != id {
		t.Fatalf("Get of %v: %v, ended %q, error %v; want ended %q", id, got.ID, got.Ended, err, why)
	}
	return got
}

// A fake is the next tier. It reads before it waits, as a database does whose
// answer is long on its way.
type fake struct {
	mu       sync.Mutex
	of       map[idworker.ID]session.Session
	err      error
	gets     int
	received []session.Session
	hold     chan struct{}
	read     chan struct{} // told that a question was read, while hold is set
}

func (f *fake) set(s session.Session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(s)
}

func (f *fake) keep(s session.Session) {
	if f.of == nil {
		f.of = map[idworker.ID]session.Session{}
	}
	f.of[s.ID] = s
}

func (f *fake) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gets
}

func (f *fake) Get(ctx context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	f.mu.Lock()
	f.gets++
	s, ok := f.of[id]
	hold, err := f.hold, f.err
	f.mu.Unlock()
	if hold != nil {
		f.read <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
			return session.Session{}, ctx.Err()
		}
	}
	switch {
	case err != nil:
		return session.Session{}, err
	case !ok:
		return session.Session{}, session.ErrNotFound
	}
	return s, nil
}

func (f *fake) Touch(context.Context, idworker.ID, time.Time) error { return nil }

func (f *fake) Publish(_ context.Context, ended ...session.Session) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received = append(f.received, ended...)
	for _, s := range ended {
		f.keep(s)
	}
	return nil
}

func logger(j *testenv.Journal) *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// A tap sees every command that a client sends.
type tap struct {
	mu   sync.Mutex
	cmds []string
}

func (p *tap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p *tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p.note(cmd)
		return next(ctx, cmd)
	}
}

func (p *tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			p.note(cmd)
		}
		return next(ctx, cmds)
	}
}

func (p *tap) note(cmd redis.Cmder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, a := range cmd.Args() {
		if raw, ok := a.([]byte); ok {
			a = string(raw)
		}
		fmt.Fprintf(&b, "%v ", a)
	}
	p.cmds = append(p.cmds, b.String())
}

func (p *tap) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.cmds...)
}

// A gate holds every command back until it is opened.
type gate struct{ open chan struct{} }

func (g gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		<-g.open
		return next(ctx, cmd)
	}
}

func (g gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		<-g.open
		return next(ctx, cmds)
	}
}
