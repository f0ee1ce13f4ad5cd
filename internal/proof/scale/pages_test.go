package scale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// pages asks the program itself, run as people run it, for the pages of the
// console, and notes how long each took from the first byte sent to the last one
// read. The first call is noted by itself: what is counted is kept for seconds.
func (d *deployment) pages(t testing.TB) {
	t.Helper()
	const times = 50
	b := d.browser(t)
	person, middle, login := d.at(d.n/2), d.at(d.n/3), d.at(d.n/20*10+2)
	for _, c := range []struct{ name, path string }{
		{"login", "/console/login?why=left"},
		{"overview", "/console/"},
		{"overview, 7 days", "/console/?span=week"},
		{"users", "/console/users"},
		{"users, in the middle", "/console/users?after=" + strconv.FormatInt(middle.id, 10)},
		{"users, by the beginning of the name", "/console/users?name=" + person.name()[:len("person.0000")]},
		{"user", "/console/users/" + strconv.FormatInt(person.id, 10)},
		{"logins", "/console/logins"},
		{"logins, in the middle", "/console/logins?before=" + strconv.FormatInt(login.token, 10)},
		{"expiry", "/console/expiry"},
		{"audit", "/console/audit"},
		{"audit, by an actor", "/console/audit?actor=operator.7"},
		{"audit, of one kind", "/console/audit?action=user.disabled"},
		{"audit, of one user", "/console/audit?target=" + strconv.FormatInt(d.at(d.n/20*10).id, 10)},
	} {
		var first, w stopwatch
		first.lap(t, func() error { return b.get(c.path) })
		for range times {
			w.lap(t, func() error { return b.get(c.path) })
		}
		d.time("page of the console: "+c.name+", the first", first.quantile(1))
		d.quantiles("page of the console: "+c.name, &w)
	}
}

// A browser is that of an admin.
type browser struct {
	http   *http.Client
	at     string
	cookie *http.Cookie
}

// browser starts the program on the deployment, makes an admin, and logs in. All
// of that ends with the test, and the admin's row is taken away again.
func (d *deployment) browser(t testing.TB) *browser {
	t.Helper()
	const name, password = "scale.admin", "violet tram sings at noon"
	dir := t.TempDir()
	program := testenv.Flakepass(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	c, err := mysql.ParseDSN(d.source)
	must(t, err)
	database := url.URL{Scheme: "mysql", User: url.User(c.User), Host: c.Addr, Path: "/" + c.DBName}
	at := "127.0.0.1:" + strconv.Itoa(testenv.FreePort(t))
	environ := []string{
		"FLAKEPASS_DATABASE=" + database.String(), "FLAKEPASS_DATA_DIR=" + dir, "FLAKEPASS_LISTEN=" + at,
		"FLAKEPASS_OPS_LISTEN=127.0.0.1:" + strconv.Itoa(testenv.FreePort(t)), "FLAKEPASS_THROTTLE=off",
	}
	run := func(stdin string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		cmd, log := exec.CommandContext(ctx, program, args...), &bytes.Buffer{}
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, strings.NewReader(stdin), log, log
		return cmd, log
	}
	add, log := run(password+"\n", "user", "add", name, "--role", "admin", "--password-stdin")
	if err := add.Run(); err != nil {
		t.Fatalf("user add: %v\n%s", err, log)
	}
	serve, _ := run("", "serve")
	must(t, serve.Start())
	t.Cleanup(func() {
		cancel()
		_ = serve.Wait() // it was killed
		if _, err := d.root.ExecContext(context.Background(), "DELETE FROM users WHERE username = ?", name); err != nil {
			t.Error(err)
		}
	})
	b := &browser{at: "http://" + at, http: &http.Client{
		Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	testenv.Eventually(t, time.Minute, func() bool { return b.get("/console/login?why=left") == nil }, "the program answers")
	must(t, b.login(name, password))
	return b
}

// login keeps the cookie by hand: net/http/cookiejar does not send one with
// Secure over plain HTTP, not even to this machine.
func (b *browser) login(name, password string) error {
	form := url.Values{"username": {name}, "password": {password}, "next": {"/console/"}}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, b.at+"/console/login", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	// Beside the token there may be the credential of the device.
	at := slices.IndexFunc(resp.Cookies(), func(c *http.Cookie) bool { return c.Name == "__Host-flakepass" })
	if at < 0 {
		return fmt.Errorf("login: %s and no token in %d cookies", resp.Status, len(resp.Cookies()))
	}
	b.cookie = resp.Cookies()[at]
	return nil
}

// get reads a page, which has to be one.
func (b *browser) get(path string) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, b.at+path, nil)
	if err != nil {
		return err
	}
	if b.cookie != nil && !strings.HasPrefix(path, "/console/login?") {
		req.AddCookie(b.cookie)
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	return nil
}
