package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// canaries are the secrets that a test has sent or was sent: no store, log or
// metric may sing of one. A nil *canaries keeps none.
type canaries struct {
	mu   sync.Mutex
	kept map[string]string // what to look for, and what it is
}

func newPassword() string { return "a canary sings " + unnamed.Replace(rand.Text()) }

// unnamed takes the vowels out: a password must not contain the name of its user,
// and three letters of a random text may be "ada".
var unnamed = strings.NewReplacer("A", "8", "E", "9", "I", "1", "O", "0", "U", "W")

func (c *canaries) add(text, what string) {
	if c == nil || text == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]string{}
	}
	c.kept[text] = what
}

func (c *canaries) password(text string) { c.add(text, "a password") }

func (c *canaries) token(text string) {
	c.add(text, "a token")
	if len(text) == flakepass.TokenLen {
		c.add(text[14:40], "the secret of a token")
	}
}

// absent fails the test if a secret is in what was written.
func (c *canaries) absent(t testing.TB, where string, written []byte) {
	t.Helper()
	if len(written) == 0 {
		t.Errorf("%s: nothing to look at", where)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for text, what := range c.kept {
		for how, spelling := range spellings(text) {
			if bytes.Contains(written, []byte(spelling)) {
				t.Errorf("%s holds %s%s", where, what, how)
			}
		}
	}
}

// spellings are the forms in which a secret can be written, by what to call them.
func spellings(text string) map[string]string {
	quoted, _ := json.Marshal(text) // a text cannot fail to be JSON
	all := map[string]string{
		"": text, " in hex": hex.EncodeToString([]byte(text)), " in upper case hex": strings.ToUpper(hex.EncodeToString([]byte(text))),
		" in a form": url.QueryEscape(text), " in a path": url.PathEscape(text), " in JSON": strings.Trim(string(quoted), `"`),
	}
	// In the middle of a longer text, base64 has three forms; what it makes of the
	// ends depends on what stands beside them.
	for name, enc := range map[string]*base64.Encoding{" in base64": base64.RawStdEncoding, " in base64url": base64.RawURLEncoding} {
		for before := range 3 {
			coded := enc.EncodeToString([]byte("xx"[:before] + text))
			from, to := (before*8+5)/6, (before+len(text))*8/6
			all[fmt.Sprint(name, " after ", before)] = coded[from:to]
		}
	}
	return all
}

// files reads every file below dir.
func files(t testing.TB, dir string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, b...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// rows reads every column of every row of every table of a MySQL.
func rows(t testing.TB, dsn string) []byte {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all bytes.Buffer
	for _, table := range column(t, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()") {
		r, err := db.QueryContext(t.Context(), "SELECT * FROM `"+table+"`")
		if err != nil {
			t.Fatal(err)
		}
		scan(t, r, &all)
	}
	return all.Bytes()
}

func column(t testing.TB, db *sql.DB, query string) (list []string) {
	t.Helper()
	r, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	scan(t, r, &b)
	for line := bufio.NewScanner(&b); line.Scan(); {
		list = append(list, line.Text())
	}
	return list
}

func scan(t testing.TB, r *sql.Rows, to io.Writer) {
	t.Helper()
	defer r.Close()
	names, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
		values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(to, "%s\n", bytes.Join(rawBytes(values), []byte("|")))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
}

func rawBytes(values []sql.RawBytes) [][]byte {
	list := make([][]byte, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}

// keys reads all that a Redis holds, as strings and as its own dump format.
func keys(t testing.TB, address string) []byte {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = rdb.Close() }()
	var all bytes.Buffer
	for it := rdb.Scan(t.Context(), 0, "*", 100).Iterator(); it.Next(t.Context()); {
		key := it.Val()
		dump, err := rdb.Dump(t.Context(), key).Result()
		if err != nil && err != redis.Nil { //nolint:errorlint // expired since
			t.Fatal(err)
		}
		// DUMP may compress what GET shows.
		value, _ := rdb.Get(t.Context(), key).Result()
		fmt.Fprintf(&all, "%s\n%s\n%s\n", key, dump, value)
	}
	return all.Bytes()
}

// monitor writes down every command that a Redis gets, until the test ends.
func monitor(t testing.TB, address string) *testenv.Journal {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	seen := &testenv.Journal{}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	ok := make([]byte, len("+OK\r\n"))
	if _, err := io.ReadFull(conn, ok); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(seen, conn) }()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return seen
}

func metrics(t testing.TB, ops string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ops+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: %d %v", resp.StatusCode, err)
	}
	return body
}
