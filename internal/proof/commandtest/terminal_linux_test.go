package commandtest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A terminal is a command that runs on a pseudo-terminal, and all that a person sees
// there, what is echoed of the typing too.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	seen   bytes.Buffer
}

// onTerminal starts a command on a pseudo-terminal, which is its standard input,
// output and error.
func onTerminal(t *testing.T, vars map[string]string, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	var unlock, number int32
	control(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*e2e.Patience)
	t.Cleanup(cancel)
	x := &terminal{t: t, cmd: exec.CommandContext(ctx, e2e.Binary(t), args...), master: master}
	x.cmd.Env, x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = e2e.Environ(vars), slave, slave, slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return x
}

func control(t *testing.T, f *os.File, request uintptr, value unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value)); errno != 0 {
		t.Fatal(errno)
	}
}

// until reads until the command has written that, or fails the test when it ends.
func (x *terminal) until(prompt string) {
	x.t.Helper()
	for part := make([]byte, 4096); !strings.Contains(x.seen.String(), prompt); {
		n, err := x.master.Read(part)
		x.seen.Write(part[:n])
		if err != nil {
			x.t.Fatalf("ended before it asked %q: %q, %v", prompt, x.seen.String(), err)
		}
	}
}

// types types a secret and presses Enter.
func (x *terminal) types(text string) { x.t.Helper(); x.presses(text + "\n") }

// presses presses keys, once the terminal does not show them: a person is slower than
// the command, which asks first.
func (x *terminal) presses(keys string) {
	x.t.Helper()
	testenv.Eventually(x.t, e2e.Patience, func() bool {
		var mode syscall.Termios
		control(x.t, x.master, syscall.TCGETS, unsafe.Pointer(&mode))
		return mode.Lflag&syscall.ECHO == 0
	}, "the terminal does not show what is typed")
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// end waits for the command, and returns all that was seen, and its exit code.
func (x *terminal) end() e2e.Result {
	for part := make([]byte, 4096); ; {
		n, err := x.master.Read(part) // EIO when the other side is closed
		x.seen.Write(part[:n])
		if err != nil {
			break
		}
	}
	_ = x.cmd.Wait()
	return e2e.Result{Out: x.seen.String(), Code: x.cmd.ProcessState.ExitCode()}
}

// TestRemoteAsksOnTheTerminal: where the server wants password and code, the command
// asks a person for both, shows neither, and goes on; a wrong one is reported, and nothing
// is done.
func TestRemoteAsksOnTheTerminal(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	password, home := e2e.NewPassword(), t.TempDir()
	vars := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "ada", "--password-stdin")
	c := e2e.NewClient(t, i.Public)
	_, codes := e2e.EnrolByAPI(t, c, c.Login("root", password), password)
	code := func(n int) string { text, _ := codes[n].(string); return text }
	e2e.Must(t, vars, password+"\n", "remote", "login", "http://"+i.Public, "root", "--password-stdin", "--code", code(0))
	db := d.SQL(t)
	role := func() int {
		return e2e.Count(t, db, "SELECT COUNT(*) FROM users WHERE username = 'ada' AND role = 'service'")
	}
	for _, turn := range []struct {
		what, password, code string
		want                 int
	}{
		{"a wrong password", "not the right passphrase", "", 1},
		{"a wrong code", password, "000000", 1},
		{"both", password, code(1), 0},
	} {
		e2e.Execute(t, db, "UPDATE users SET token_proved_at = 1") // long ago
		x := onTerminal(t, vars, "remote", "user", "role", "ada", "service")
		x.until("Your password: ")
		x.types(turn.password)
		if turn.code != "" {
			x.until("Code of the second factor: ")
			x.types(turn.code)
		}
		r := x.end()
		if r.Code != turn.want || role() != 1-turn.want {
			t.Errorf("%s: exit code %d, done %d times\n%s", turn.what, r.Code, role(), r.Out)
		}
		if strings.Contains(r.Out, turn.password) || turn.code != "" && strings.Contains(r.Out, turn.code) {
			t.Errorf("%s: shown on the terminal:\n%s", turn.what, r.Out)
		}
	}
	// Within ten minutes it does not ask again.
	if r := onTerminal(t, vars, "remote", "user", "role", "ada", "user").end(); r.Code != 0 || strings.Contains(r.Out, "password") || role() != 0 {
		t.Errorf("once more: exit code %d\n%s", r.Code, r.Out)
	}
}

// TestCSVOnATerminalCommandsNothing: what goes to a file is whole, and what goes to a
// terminal is without what that obeys.
func TestCSVOnATerminalCommandsNothing(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	e2e.Must(t, d.Vars, e2e.NewPassword()+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	e2e.Execute(t, d.SQL(t), "INSERT INTO audit_events (id, actor, via, action, target_kind, target, reason, old_value, new_value, request_id, address) "+
		"VALUES (?, '', 'cli', 'user.disabled', 'user', '', ?, X'', X'', '', '')", time.Now().UnixMilli()<<22, "x\x1b[2J\ttwo\nlines")
	if out := e2e.Must(t, d.Vars, "", "audit", "--csv").Out; !strings.Contains(out, "\"x\x1b[2J\ttwo\nlines\"") {
		t.Errorf("to a file: %q", out)
	}
	r := onTerminal(t, d.Vars, "audit", "--csv").end()
	if r.Code != 0 || strings.Contains(r.Out, "\x1b") || !strings.Contains(r.Out, "x\ufffd[2J") || !strings.Contains(r.Out, "lines\"") {
		t.Errorf("to a terminal: exit code %d, %q", r.Code, r.Out)
	}
}

// TestRemoteLoginAsksWhichOneEnds: where an account may have no more logins, the password and
// the code were right, and the code is used up. On a terminal the command asks which login
// ends, and goes on without another code; elsewhere it says what takes none.
func TestRemoteLoginAsksWhichOneEnds(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	password, home := e2e.NewPassword(), t.TempDir()
	vars := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	c := e2e.NewClient(t, i.Public)
	_, codes := e2e.EnrolByAPI(t, c, c.Login("root", password), password)
	code := func(n int) string { text, _ := codes[n].(string); return text }
	in := c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "root", "password", password, "code", code(0))), 200, "")
	held := in.Field("session_id")
	e2e.Must(t, d.Vars, "", "policy", "set", "--over-limit", "refuse")
	login := []string{"remote", "login", "http://" + i.Public, "root", "--code"}
	piped := e2e.Command(t, vars, password+"\n", append(login, code(1), "--password-stdin")...)
	if piped.Code != 1 || !strings.Contains(piped.Errs, held) || !strings.Contains(piped.Errs, "recovery codes") || !strings.Contains(piped.Errs, "--end-session") {
		t.Errorf("without a terminal: exit code %d\n%s", piped.Code, piped.Errs)
	}
	x := onTerminal(t, vars, append(login, code(2))...)
	x.until("Password: ")
	x.types(password)
	for _, answer := range []string{"12345", held} {
		x.until("ID of the one that ends: ")
		x.seen.Reset()
		if _, err := x.master.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if r := x.end(); r.Code != 0 || !strings.Contains(r.Out, "logged in to") {
		t.Errorf("on a terminal: exit code %d\n%s", r.Code, r.Out)
	}
	c.Dead(in.Field("token"), "token_replaced")
	if left := e2e.Count(t, d.SQL(t), "SELECT length(recovery_codes) / 32 FROM users"); left != 7 {
		t.Errorf("%d recovery codes are left of 10, want 7", left)
	}
}

// TestCtrlCEndsAQuestion, and so do Ctrl-D, SIGTERM and a terminal that has gone: nothing was changed, and
// the terminal shows again what is typed.
func TestCtrlCEndsAQuestion(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	for _, at := range []string{"Password: ", "Again: "} {
		for _, end := range []string{"half of it\x03", "\x04", "SIGTERM", "gone"} {
			x := onTerminal(t, d.Vars, "user", "add", "ada")
			x.until("Password: ")
			if at == "Again: " {
				x.types(e2e.NewPassword())
				x.until(at)
			}
			switch end {
			case "SIGTERM":
				if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
			case "gone":
				if err := x.master.Close(); err != nil {
					t.Error(err)
				}
				if _ = x.cmd.Wait(); x.cmd.ProcessState.ExitCode() != 1 {
					t.Errorf("%s without a terminal: %v", at, x.cmd.ProcessState)
				}
				continue
			default:
				x.presses(end)
			}
			r := x.end()
			var mode syscall.Termios
			control(t, x.master, syscall.TCGETS, unsafe.Pointer(&mode))
			if r.Code != 1 || !strings.Contains(r.Out, "nothing was changed") || mode.Lflag&syscall.ECHO == 0 {
				t.Errorf("%s %q: exit code %d, the terminal shows what is typed: %v\n%s", at, end, r.Code, mode.Lflag&syscall.ECHO != 0, r.Out)
			}
		}
	}
	if n := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users"); n != 0 {
		t.Errorf("%d users were added", n)
	}
}

// TestWhoWasConfirmedIsDeleted, and nobody else who has got the name while a person was asked.
func TestWhoWasConfirmedIsDeleted(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	password := e2e.NewPassword()
	for _, name := range []string{"ada", "bob"} {
		e2e.Must(t, d.Vars, password+"\n", "user", "add", name, "--password-stdin")
	}
	const alias = "ada@example.org"
	e2e.Must(t, d.Vars, "", "user", "alias", "add", "ada", alias)
	x := onTerminal(t, d.Vars, "user", "delete", alias)
	x.until("Type the username to go on: ")
	e2e.Must(t, d.Vars, "", "user", "alias", "remove", "ada", alias)
	e2e.Must(t, d.Vars, "", "user", "alias", "add", "bob", alias)
	if _, err := x.master.WriteString("ada\n"); err != nil {
		t.Fatal(err)
	}
	r := x.end()
	if deleted := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users WHERE deleted_at IS NOT NULL"); deleted != 0 || r.Code != 1 || !strings.Contains(r.Out, "nothing was changed") {
		t.Errorf("exit code %d, %d users deleted\n%s", r.Code, deleted, r.Out)
	}
}
