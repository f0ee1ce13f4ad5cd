//go:build unix

package sqlstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// childFile makes the test binary a process that logs users of that SQLite file
// in and out until it is killed, and says each change once it is acknowledged.
const childFile = "FLAKEPASS_GORMSTORE_TEST_FILE"

func TestMain(m *testing.M) {
	if file := os.Getenv(childFile); file != "" {
		_, _ = fmt.Fprintln(os.Stderr, logInAndOut(context.Background(), file))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func logInAndOut(ctx context.Context, file string) error {
	db, err := sqlstore.Open(ctx, sqlstore.Options{Dialect: migrations.SQLite, Source: file})
	if err != nil {
		return err
	}
	w := &world{DB: db, users: &sqlstore.Users{DB: db}, sessions: &sqlstore.Sessions{DB: db}, ids: &minter{}}
	users, err := w.users.List(ctx, 0, 10)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for _, u := range users {
		go func() {
			for {
				begun, err := w.login(ctx, w.opening(u.ID))
				if err != nil {
					failed <- err
				}
				_, _ = fmt.Fprintf(os.Stdout, "%d %d in\n", u.ID, begun.Session.ID)
				if rand.IntN(2) == 0 {
					continue
				}
				if _, err := w.sessions.End(ctx, logout(begun.Session)); err != nil {
					failed <- err
				}
				_, _ = fmt.Fprintf(os.Stdout, "%d %d out\n", u.ID, begun.Session.ID)
			}
		}()
	}
	return <-failed
}

// What a killed process had acknowledged is in the database.
func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	w := newWorld(t, kinds[0].options(t))
	for i := range 3 {
		w.user(t, "user"+strconv.Itoa(i))
	}
	acknowledged := 0
	for range 10 {
		last := killed(t, w.options.Source, time.Duration(50+rand.IntN(250))*time.Millisecond)
		var check string
		if err := w.SQL().QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
			t.Fatalf("integrity_check: %s, %v", check, err)
		}
		w.sound(t)
		for user, a := range last {
			acknowledged += a.n
			r := w.row(t, user)
			newest := max(r.Token.Int64, r.Floor)
			switch {
			case newest < int64(a.id):
				t.Errorf("%d: login %d was acknowledged, and the database knows of none after %d", user, a.id, newest)
			case a.out && r.Floor < int64(a.id):
				t.Errorf("%d: logout of %d was acknowledged, and the floor is %d", user, a.id, r.Floor)
			case a.out && r.Ended.Int64 == int64(a.id) && r.Reason.String != string(session.LoggedOut):
				t.Errorf("%d: logout of %d was acknowledged, and it ended as %q", user, a.id, r.Reason.String)
			}
		}
	}
	if acknowledged < 20 {
		t.Errorf("only %d changes were acknowledged in all", acknowledged)
	}
	t.Logf("%d changes acknowledged", acknowledged)
}

// An acknowledgement is the last that a process gave for a user.
type acknowledgement struct {
	id  idworker.ID
	out bool
	n   int // how many it gave
}

// killed runs the process, kills it that long after its first acknowledgement,
// and returns what it had acknowledged.
func killed(t *testing.T, file string, after time.Duration) map[idworker.ID]acknowledgement {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), childFile+"="+file)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := map[idworker.ID]acknowledgement{}
	lines := bufio.NewReader(out)
	for first := true; ; first = false {
		line, err := lines.ReadString('\n')
		if err == io.EOF { // a line that was cut off was not an acknowledgement
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if first {
			time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
		var user, id idworker.ID
		var what string
		if _, err := fmt.Sscan(line, (*int64)(&user), (*int64)(&id), &what); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		last[user] = acknowledgement{id, what == "out", last[user].n + 1}
	}
	_ = child.Wait()
	return last
}

func older(version string, than ...int) bool {
	for i, part := range strings.SplitN(version, ".", len(than)) {
		n, err := strconv.Atoi(part)
		if err != nil || n != than[i] {
			return err != nil || n < than[i]
		}
	}
	return false
}
