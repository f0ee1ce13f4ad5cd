package commandtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestScripts runs the scripts in testdata/script. Beside the commands of
// testscript they know:
//
//	flakepass              the program, as people run it
//	raced                  the same, compiled with these tests, for what runs for long or
//	                       in several goroutines: the server, and the import. With the
//	                       race detector a start takes four times as much processor,
//	                       and hundreds of commands do one thing after the other
//	exits CODE COMMAND     is exec, for a command that has to end with that exit code
//	ready                  waits until the server on $PORT is ready
//	login NAME PASSWORD    logs in and keeps the token
//	me CODE                waits until the token gets that code, or "alive"
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", func(*testscript.Env) {})
}

// TestZooKeeperScripts runs those in testdata/zookeeper, which find host:port
// and a path of their own in $ZOOKEEPER.
func TestZooKeeperScripts(t *testing.T) {
	t.Parallel()
	addr, root := testenv.ZooKeeper(t)
	runScripts(t, "testdata/zookeeper", func(e *testscript.Env) { e.Setenv("ZOOKEEPER", addr+root) })
}

// TestRedisScripts runs those in testdata/redis, which find the URL of an empty
// server in $REDIS.
func TestRedisScripts(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	runScripts(t, "testdata/redis", func(e *testscript.Env) { e.Setenv("REDIS", server.URL()) })
}

func runScripts(t *testing.T, dir string, setup func(*testscript.Env)) {
	program := t.TempDir()
	if err := os.Symlink(e2e.Binary(t), filepath.Join(program, "flakepass")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			port, ops := testenv.FreePort(t), testenv.FreePort(t)
			e.Setenv("PORT", strconv.Itoa(port))
			e.Setenv("FLAKEPASS_LISTEN", fmt.Sprintf("127.0.0.1:%d", port))
			steps, err := filepath.Glob("../../../migrations/sqlite/*.sql")
			if err != nil {
				return err
			}
			e.Setenv("MIGRATIONS", strconv.Itoa(len(steps)))
			e.Setenv("FLAKEPASS_OPS_LISTEN", fmt.Sprintf("127.0.0.1:%d", ops))
			e.Setenv("FLAKEPASS_REVOCATION_BOUND", "1s")
			e.Setenv("LONG", strings.Repeat("x", 1001))
			e.Setenv("PATH", program+string(filepath.ListSeparator)+e.Getenv("PATH"))
			// A program with the race detector sleeps a second before it ends.
			e.Setenv("GORACE", "atexit_sleep_ms=20")
			setup(e)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"ready": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, "ready", neg, args, 0)
				poll(ts, "the server is not ready", func() bool { return ask(ts, "GET", "/readyz", "") == "ready" })
			},
			"login": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, "login NAME PASSWORD", neg, args, 2)
				token := ask(ts, "POST", "/v1/login", e2e.Object("username", args[0], "password", args[1]))
				if !strings.HasPrefix(token, "fp_") {
					ts.Fatalf("login: %s", token)
				}
				ts.Setenv("TOKEN", token)
			},
			"me": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, "me CODE", neg, args, 1)
				var got string
				poll(ts, "me is not "+args[0], func() bool {
					got = ask(ts, "GET", "/v1/me", "")
					return got == args[0]
				})
			},
		},
	})
}

// exits leaves standard output and error for the lines that follow, as exec
// does, and takes what stdin has set.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT ...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func usage(ts *testscript.TestScript, text string, neg bool, args []string, n int) {
	if neg || len(args) != n {
		ts.Fatalf("usage: %s", text)
	}
}

func poll(ts *testscript.TestScript, msg string, ok func() bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for over := time.Now().Add(e2e.Patience); !ok(); <-tick.C {
		if time.Now().After(over) {
			ts.Fatalf("not within %v: %s", e2e.Patience, msg)
		}
	}
}

// ask returns the code of a problem, the token of a login, or "alive" or
// "ready"; an error is "".
func ask(ts *testscript.TestScript, method, path, body string) string {
	ctx, cancel := context.WithTimeout(context.Background(), e2e.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:"+ts.Getenv("PORT")+path, strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if token := ts.Getenv("TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Timeout: e2e.Patience}).Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var a struct{ Code, Token, Status, Username string }
	_ = json.NewDecoder(resp.Body).Decode(&a) // status is a number in a problem
	switch {
	case a.Code != "" || a.Token != "":
		return a.Code + a.Token
	case a.Username != "":
		return "alive"
	}
	return a.Status
}
