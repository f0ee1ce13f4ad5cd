//go:build unix

package interop_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// oldUsers is the system of which the example of the page asks.
const oldUsers = `
import hashlib
def kept(password): return hashlib.pbkdf2_hmac("sha256", password.encode(), b"salt", 1000)
USERS = {name: {"id": id, "disabled": name == "gone", "hash": kept(password)} for id, name, password in
    (("1", "ada@old.example.org", "violet tram sings at noon"), ("2", "bob", "tïny"), ("3", "gone", "violet tram sings at noon"), ("4", "waiting", "tïny"))}
NOBODY = {"hash": b""}
def find(username): return USERS.get(username)
def matches(user, password):
    print("asked", flush=True)
    if "²" in password: raise ValueError("no hash is of it")
    return user["hash"] == kept(password)
`

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestExampleOfAHook runs the hook of docs/moving.md beside a real deployment: people move at their
// first login and are not asked about again, others do not, and without the hook nobody
// hears that a password is wrong, whoever it is of.
func TestExampleOfAHook(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), testenv.FreePort(t)
	write(t, filepath.Join(dir, "users.py"), oldUsers)
	write(t, filepath.Join(dir, "hook.py"), exampleBelow(t, "### A hook", "python"))
	said, ended := &testenv.Journal{}, make(chan struct{})
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	hook := exec.CommandContext(ctx, testenv.Program(t, "/usr/bin/python3"), "hook.py")
	hook.Dir, hook.Stdout, hook.Stderr = dir, said, said
	hook.Env = []string{fmt.Sprintf("HOOK_PORT=%d", port), "HOOK_SECRET=" + hookSecret}
	if err := hook.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(ended); _ = hook.Wait() }()
	stop := func() { kill(); <-ended }
	t.Cleanup(stop)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	testenv.Eventually(t, patience, func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		return err == nil && conn.Close() == nil
	}, "the hook listens")

	write(t, filepath.Join(dir, "secret"), hookSecret+"\n")
	s := start(t, "FLAKEPASS_IMPORT_HOOK_URL=http://"+address+"/", "FLAKEPASS_IMPORT_HOOK_SECRET_FILE="+filepath.Join(dir, "secret"), "FLAKEPASS_REGISTRATION=closed")
	write(t, filepath.Join(dir, "users.csv"), "username,external_id\nwaiting,4\n")
	s.run(t, "user", "import", filepath.Join(dir, "users.csv"))
	asked := func() int { return strings.Count(said.String(), "asked") }
	for _, c := range []struct {
		name, password string
		err            string
		asked          int
	}{
		{"Ada@old.example.org", password, "<nil>", 1}, {"ada@old.example.org", password, "<nil>", 0}, {"ada@old.example.org", "wrong", "status 401", 1},
		{"bob", "wrong", "status 401", 1}, {"bob", short, "<nil>", 1}, {"bob", short, "<nil>", 0},
		{"gone", password, "status 403", 1}, {"gone", "wrong", "status 401", 1}, {"nobody", password, "status 401", 1},
		{"waiting", short, "<nil>", 1}, {"waiting", short, "<nil>", 0}, {"alice", "wrong", "status 401", 1},
	} {
		before := asked()
		_, err := loginWith(t.Context(), s.base, c.name, c.password)
		// What the hook has printed comes through a pipe, maybe after its answer.
		testenv.Eventually(t, patience, func() bool { return asked()-before >= c.asked }, "the hook says that it was asked")
		if got := asked() - before; got != c.asked || fmt.Sprint(err) != c.err {
			t.Errorf("%s: %v, asked %d times", c.name, err, got)
		}
	}
	// What a stranger types and sends has it left alone by nobody.
	for _, name := range []string{"nobody", "alice", "nobody", "alice", "nobody", "alice"} {
		if _, err := loginWith(t.Context(), s.base, name, "no²password"); fmt.Sprint(err) != "status 401" {
			t.Errorf("a password that no hash is of, %s: %v", name, err)
		}
	}
	for header, want := range map[string]string{
		"Content-Length: -1": "411", "Content-Length: x": "411", "X-None: 1": "411", "Content-Length: 0": "401",
		"Webhook-Timestamp: \xb2\r\nContent-Length: 0":                                                             "401",
		fmt.Sprintf("Webhook-Timestamp: %d\r\nWebhook-Signature: v1,\xe9\r\nContent-Length: 0", time.Now().Unix()): "401",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n\r\n", header)
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+want) {
			t.Errorf("%q: %q, %v", header, answer, err)
		}
		_ = conn.Close()
	}
	stop()
	for _, c := range []struct{ name, password, want string }{{"nobody", password, "status 503"}, {"alice", "wrong", "status 503"}, {"ada@old.example.org", password, "<nil>"}} {
		if _, err := loginWith(t.Context(), s.base, c.name, c.password); fmt.Sprint(err) != c.want {
			t.Errorf("without the hook, %s: %v", c.name, err)
		}
	}
	kept := s.run(t, "user", "export", "--with-hashes", "--yes")
	for _, id := range []string{"1", "2", "4"} {
		found := false
		for line := range strings.Lines(kept) {
			found = found || strings.Contains(line, `"external_id":"`+id+`"`) && strings.Contains(line, "$argon2id$v=19$m=19456,t=2,p=1$")
		}
		if !found {
			t.Errorf("%s has not moved:\n%s", id, kept)
		}
	}
	if strings.Contains(kept, "gone") || strings.Contains(kept, "nobody") {
		t.Errorf("who did not log in is here:\n%s", kept)
	}
}
