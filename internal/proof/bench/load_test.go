package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

const connections = 64

// loadFor is how long one side of one round takes.
var loadFor = testenv.Brief(2*time.Second, 100*time.Millisecond)

// A loader keeps connections busy with GETs from a process of its own: wrk
// where it is installed, otherwise this program.
type loader struct {
	name        string
	connections int
	args        func(url, tokens string) []string
	status      int // of the answers; wrk takes each below 400 as good, so it loads no others
}

func newLoader(tb testing.TB, connections, status int) loader {
	tb.Helper()
	// wrk knows whole seconds only.
	if path, err := exec.LookPath("wrk"); err == nil && loadFor >= time.Second && status < http.StatusBadRequest {
		return loader{"wrk", connections, func(url, tokens string) []string {
			return []string{path, "-t1", fmt.Sprintf("-c%d", connections), "-d" + loadFor.String(),
				"-s", "testdata/tokens.lua", url, "--", tokens}
		}, status}
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return loader{"a loader in Go", connections, func(url, tokens string) []string {
		return []string{self, "load", url, tokens, loadFor.String(), strconv.Itoa(connections), strconv.Itoa(status)}
	}, status}
}

// run loads a server for loadFor. tokens is a file with one token on each line;
// every request brings the next.
//
// A round in which requests failed is run again, and said so: where a machine
// stands still for a tenth of a second, the server gives up on Redis for a
// while. The third such round in a row fails the benchmark.
func (l loader) run(tb testing.TB, s *httpServer, path, tokens string) sample {
	tb.Helper()
	for range 3 {
		got, failed := l.once(tb, s, path, tokens)
		if failed <= testenv.Brief(got.ops/1000, got.ops-1) {
			return got
		}
		tb.Logf("%s: %d of %d requests failed; the round is run again\n%s", path, failed, got.ops, s.process.LogTail())
		l.awaitCalm(tb, s, path, tokens)
	}
	tb.Fatalf("%s: requests keep failing", path)
	return sample{}
}

// awaitCalm returns once a second has passed in which no request failed.
func (l loader) awaitCalm(tb testing.TB, s *httpServer, path, tokens string) {
	tb.Helper()
	token := firstLine(tb, tokens)
	since := time.Now()
	testenv.Eventually(tb, 2*time.Minute, func() bool {
		conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", s.addr)
		if err != nil {
			return false
		}
		defer conn.Close()
		if roundTrip(conn, bufio.NewReader(conn), s.addr, path, token, l.status) != nil {
			since = time.Now()
		}
		return time.Since(since) > time.Second
	}, "a second without a failure")
}

func firstLine(tb testing.TB, file string) string {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

func (l loader) once(tb testing.TB, s *httpServer, path, tokens string) (got sample, failed int) {
	tb.Helper()
	args := l.args("http://"+s.addr+path, tokens)
	before := s.cpu(tb)
	out, err := exec.CommandContext(tb.Context(), args[0], args[1:]...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", l.name, err, out)
	}
	cpu := s.cpu(tb) - before
	_, line, _ := bytes.Cut(out, []byte("BENCH "))
	var requests, micros, tail, middle int
	if _, err := fmt.Sscan(string(line), &requests, &micros, &failed, &tail, &middle); err != nil || requests == 0 {
		tb.Fatalf("%s: not understood: %v\n%s", l.name, err, out)
	}
	return sample{
		ops: requests, wall: time.Duration(micros) * time.Microsecond, cpu: cpu,
		p99: time.Duration(tail) * time.Microsecond, p50: time.Duration(middle) * time.Microsecond,
	}, failed
}

// load is the loader in Go. It writes whole requests and reads answers without
// an http.Client, which would cost more than the server.
func load(args []string) error { return loadTo(os.Stdout, args) }

func loadTo(w io.Writer, args []string) error {
	host, path, _ := strings.Cut(strings.TrimPrefix(args[0], "http://"), "/")
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	tokens := strings.Fields(string(text))
	long, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	connections, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	status, err := strconv.Atoi(args[4])
	if err != nil {
		return err
	}
	var next, failed atomic.Int64
	var all sync.WaitGroup
	took := make([][]time.Duration, connections)
	start := time.Now()
	for i := range connections {
		all.Go(func() {
			var d net.Dialer
			conn, err := d.DialContext(context.Background(), "tcp", host)
			if err != nil {
				failed.Add(1)
				return
			}
			defer func() { _ = conn.Close() }()
			answers := bufio.NewReader(conn)
			for one := true; one || time.Since(start) < long; one = false { // one request at least, also on a busy machine
				token := tokens[int(next.Add(1))%len(tokens)]
				begun := time.Now()
				if err := roundTrip(conn, answers, host, "/"+path, token, status); err != nil {
					failed.Add(1)
				}
				took[i] = append(took[i], time.Since(begun))
			}
		})
	}
	all.Wait()
	wall, each := time.Since(start), slices.Concat(took...)
	slices.Sort(each)
	var tail, middle time.Duration
	if len(each) > 0 {
		tail, middle = each[len(each)*99/100], each[len(each)/2]
	}
	_, err = fmt.Fprintln(w, "BENCH", len(each), wall.Microseconds(), failed.Load(), tail.Microseconds(), middle.Microseconds())
	return err
}

func roundTrip(w io.Writer, r *bufio.Reader, host, path, token string, status int) error {
	_, err := fmt.Fprintf(w, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, host, token)
	if err != nil {
		return err
	}
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != status {
		return errors.New(answer.Status)
	}
	return nil
}

func TestLoadSpreadsTheTokensAndCountsFailures(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credential := r.Header.Get("Authorization")
		mu.Lock()
		seen[credential]++
		mu.Unlock()
		if credential == "Bearer b" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	var out bytes.Buffer
	if err := loadTo(&out, []string{s.URL + "/v1/me", writeLines(t, []string{"a", "b", "c"}), "50ms", strconv.Itoa(connections), "200"}); err != nil {
		t.Fatal(err)
	}
	var requests, micros, failed, tail, middle int
	if _, err := fmt.Sscanf(out.String(), "BENCH %d %d %d %d %d\n", &requests, &micros, &failed, &tail, &middle); err != nil {
		t.Fatalf("got %q: %v", &out, err)
	}
	a, b, c := seen["Bearer a"], seen["Bearer b"], seen["Bearer c"]
	if requests < connections || requests != a+b+c || failed != b || max(a, b, c)-min(a, b, c) > 1 || micros < 50_000 || middle <= 0 || middle > tail || tail > micros {
		t.Errorf("got %q for %v", &out, seen)
	}
}
