//go:build unix

package scale

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// imported is the variable with which "make scale" says how many users are imported.
const imported = "FLAKEPASS_SCALE_IMPORT"

// most is the memory of an import, whatever the number of users: some batches, and the
// program.
const most = 160 << 20

// TestImportIsFlatAndResumable: users of another system are added by the program as people
// run it, within a bounded memory; said again, it changes nothing.
func TestImportIsFlatAndResumable(t *testing.T) {
	n := 20_000
	if text := os.Getenv(imported); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("%s has %q; want a number of users", imported, text)
		}
	}
	c, err := mysql.ParseDSN(testenv.MySQL(t))
	must(t, err)
	file := filepath.Join(t.TempDir(), "users.ndjson")
	writeUsers(t, file, n)
	database := url.URL{Scheme: "mysql", User: url.UserPassword(c.User, c.Passwd), Host: c.Addr, Path: "/" + c.DBName}
	run := func(args ...string) (out string, took, cpu time.Duration, memory int64) {
		cmd := exec.CommandContext(t.Context(), testenv.Flakepass(t), args...)
		cmd.Env = []string{"FLAKEPASS_DATABASE=" + database.String(), "FLAKEPASS_DATA_DIR=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		start := time.Now()
		if err := cmd.Run(); err != nil {
			t.Fatalf("flakepass %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
		}
		took = time.Since(start)
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			memory = usage.Maxrss << 10
		}
		return stdout.String(), took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), memory
	}
	run("migrate", "up")
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"--dry-run"}, fmt.Sprintf("%d lines: %d users to be added, 0 here already, 0 in conflict, 0 bad; nothing was changed\n", n, n)},
		{nil, fmt.Sprintf("%d lines: %d users added, 0 here already, 0 in conflict, 0 bad\n", n, n)},
		{nil, fmt.Sprintf("%d lines: 0 users added, %d here already, 0 in conflict, 0 bad\n", n, n)},
	} {
		out, took, cpu, memory := run(append([]string{"user", "import", file}, step.args...)...)
		t.Logf("%s in %v: %.0f lines/s, %d MiB, %v of CPU", strings.TrimSpace(out), took.Round(time.Millisecond), float64(n)/took.Seconds(), memory>>20, cpu.Round(time.Millisecond))
		if out != step.want {
			t.Errorf("%s, want %s", out, step.want)
		}
		if memory > most && len(step.args) == 0 {
			t.Errorf("%d MiB, want at most %d", memory>>20, most>>20)
		}
	}
	db, err := sql.Open("mysql", c.FormatDSN())
	must(t, err)
	defer func() { _ = db.Close() }()
	var formats int
	must(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM hash_formats WHERE imported > 0").Scan(&formats))
	if formats != 3 {
		t.Errorf("%d formats were counted, want all users and two", formats)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), testenv.Flakepass(t), "user", "export", "--with-hashes", "--yes")
	cmd.Env, cmd.Stdout = []string{"FLAKEPASS_DATABASE=" + database.String(), "FLAKEPASS_DATA_DIR=" + t.TempDir()}, &out
	must(t, cmd.Run())
	if lines := bytes.Count(out.Bytes(), []byte{'\n'}); lines != n {
		t.Errorf("%d users were exported", lines)
	}
}

// writeUsers writes n users with hashes of Django and of a Node.js program.
func writeUsers(t *testing.T, file string, n int) {
	t.Helper()
	f, err := os.Create(file)
	must(t, err)
	w := bufio.NewWriter(f)
	for i := range n {
		hash := "$2b$10$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
		if i%3 == 0 {
			hash = fmt.Sprintf("pbkdf2_sha256$600000$salt%08d$P4UiMPVduVWIL/oS1GzH+IofsccjJNM5hUTikBvi5to=", i)
		}
		_, err := fmt.Fprintf(w, `{"username":"Person.%08d","external_id":"%d","password_hash":%q,"created":%d}`+"\n", i, i, hash, 1_500_000_000+i)
		must(t, err)
	}
	must(t, w.Flush())
	must(t, f.Close())
}
