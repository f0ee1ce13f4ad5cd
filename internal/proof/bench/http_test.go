package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// httpRounds is the number of rounds over HTTP; each takes twice loadFor.
var httpRounds = testenv.Brief(5, 1)

// BenchmarkHTTP compares servers that run as processes of their own.
func BenchmarkHTTP(b *testing.B) {
	program := buildFlakepass(b)
	b.Run("me", func(b *testing.B) { benchmarkWarm(b, program, "/v1/me") })
	b.Run("verify", func(b *testing.B) { benchmarkWarm(b, program, "/v1/verify") })
	b.Run("malformed", func(b *testing.B) { benchmarkBogus(b, program, false) })
	b.Run("of-nobody", func(b *testing.B) { benchmarkBogus(b, program, true) })
	b.Run("verify-redis", func(b *testing.B) { benchmarkVerifyRedis(b, program, connections) })
	b.Run("verify-redis-alone", func(b *testing.B) { benchmarkVerifyRedis(b, program, 1) })
	b.Run("login", func(b *testing.B) { benchmarkLogin(b, program) })
}

// benchmarkWarm compares a route, for people whom memory knows, with a handler that
// checks no token and writes the same answer.
func benchmarkWarm(b *testing.B, program, path string) {
	data := b.TempDir()
	tokens, _ := seed(b, data)
	ours := startFlakepass(b, program, data)
	compareBare(b, ours, path, tokens, http.StatusOK)
}

// benchmarkBogus compares the refusal of tokens that were never given out with a handler that answers
// all requests with the same 401: of texts with one wrong character, or of well-formed tokens whose IDs
// are of the last hour. No cache knows of these, so the database is asked about each.
func benchmarkBogus(b *testing.B, program string, wellFormed bool) {
	data := b.TempDir()
	seed(b, data)
	texts := make([]string, 20_000)
	for i := range texts {
		token, _ := mint(b, time.Now().Add(-time.Hour), rand.IntN(1<<30))
		if texts[i] = token.Reveal(); !wellFormed {
			texts[i] = texts[i][:30] + flip(texts[i][30]) + texts[i][31:]
		}
	}
	compareBare(b, startFlakepass(b, program, data), "/v1/verify", writeLines(b, texts), http.StatusUnauthorized)
}

// compareBare compares a server with a handler that checks nothing, and writes what the server answers to
// the first of the tokens.
func compareBare(b *testing.B, ours *httpServer, path, tokens string, status int) {
	b.Helper()
	token := firstLine(b, tokens)
	answer := ask(b, ours, path, token, status)
	bare := startSelf(b, "serve-bare", path, path, writeLines(b, []string{answer}))
	if got := ask(b, bare, path, token, status); alike(got) != alike(answer) {
		b.Fatalf("the bare handler answers\n%s\nand the product\n%s", got, answer)
	}
	with := newLoader(b, connections, status)
	c := compare(b, httpRounds,
		func() sample { return with.run(b, ours, path, tokens) },
		func() sample { return with.run(b, bare, path, tokens) })
	reportHTTP(b, c, with, "bare gin")
}

// ask returns the whole answer to a GET, as it came.
func ask(tb testing.TB, s *httpServer, path, token string, status int) string {
	tb.Helper()
	conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", s.addr)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	var raw bytes.Buffer
	if err := roundTrip(conn, bufio.NewReader(io.TeeReader(conn, &raw)), s.addr, path, token, status); err != nil {
		tb.Fatal(err)
	}
	return raw.String()
}

// changing are the headers whose values are others in each answer or each second.
var changing = regexp.MustCompile(`(?m)(^(?:Date|X-Request-Id|X-Auth-Expires-In|X-Auth-Idle-Expires-In): |"request_id":")([^\r"]*)`)

// alike is an answer with no more than the lengths of what changes.
func alike(answer string) string {
	return changing.ReplaceAllStringFunc(answer, func(line string) string {
		of := changing.FindStringSubmatch(line)
		return of[1] + strings.Repeat("?", len(of[2]))
	})
}

func TestAlikeSeesAllButWhatChanges(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nX-Auth-Expires-In: 2591995\r\nX-Request-Id: 2gerp7a2gwf69\r\nX-Role: user\r\n\r\n{}"
	for other, same := range map[string]bool{
		strings.Replace(answer, "2591995", "2591994", 1):                  true,
		strings.Replace(answer, "2gerp", "3aaaa", 1):                      true,
		strings.Replace(answer, "2gerp", "2ger", 1):                       false,
		strings.Replace(answer, "X-Request-Id: 2gerp7a2gwf69\r\n", "", 1): false,
		strings.Replace(answer, "200 OK", "204 No Content", 1):            false,
		strings.Replace(answer, "user", "root", 1):                        false,
		answer + " ":                  false,
		answer + `{"request_id":"a"}`: false,
	} {
		if got := alike(other) == alike(answer); got != same {
			t.Errorf("%q: got %v, want %v", other, got, same)
		}
	}
}

// benchmarkVerifyRedis compares GET /v1/verify, for tokens that the instance
// has not seen but Redis knows, with a handler that sends one GET to the same
// Redis and writes the same answer. The instance has room for 100 logins in memory and meets 20,000 in
// turn, so memory has forgotten each when it comes again.
func benchmarkVerifyRedis(b *testing.B, program string, connections int) {
	const bound = 5 * time.Minute // so that Redis need not be filled again within the benchmark
	data := b.TempDir()
	_, key := seed(b, data)
	shared := testenv.Redis(b)
	tokens := strangers(b, shared.Addr, key, bound, testenv.Brief(20_000, 1000))
	ours := startFlakepass(b, program, data, "redis: "+shared.URL(), "revocation_bound: "+bound.String(), "cache_entries: 100")
	answer := ask(b, ours, "/v1/verify", firstLine(b, tokens), http.StatusOK)
	bare := startSelf(b, "serve-redis", "/v1/verify", shared.Addr, writeLines(b, []string{answer}))
	if got := ask(b, bare, "/v1/verify", firstLine(b, tokens), http.StatusOK); alike(got) != alike(answer) {
		b.Fatalf("the plain handler answers\n%s\nand the product\n%s", got, answer)
	}
	with := newLoader(b, connections, http.StatusOK)
	var requests, hits int
	c := compare(b, httpRounds,
		func() sample {
			before := keyspaceHits(b, shared.Addr)
			s := with.run(b, ours, "/v1/verify", tokens)
			requests, hits = requests+s.ops, hits+keyspaceHits(b, shared.Addr)-before // of a round run again, more hits
			return s
		},
		func() sample { return with.run(b, bare, "/v1/verify", tokens) })
	if hits < testenv.Brief(requests*95/100, 1) {
		b.Fatalf("Redis answered %d of %d requests; the rest never got there", hits, requests)
	}
	reportHTTP(b, c, with, "gin with one go-redis GET, pipelined")
}

var hitsLine = regexp.MustCompile(`keyspace_hits:(\d+)`)

// keyspaceHits is how many reads of that Redis have found their key.
func keyspaceHits(tb testing.TB, addr string) int {
	tb.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	info, err := rdb.Info(tb.Context(), "stats").Result()
	if err != nil {
		tb.Fatal(err)
	}
	n, err := strconv.Atoi(fmt.Sprint(hitsLine.FindStringSubmatch(info)[1]))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func reportHTTP(b *testing.B, c contest, with loader, baseline string) {
	b.Helper()
	rate, bareRate := each(c.ours, sample.rate), each(c.base, sample.rate)
	cost, bareCost := each(c.ours, sample.cost), each(c.base, sample.cost)
	tail, bareTail := each(c.ours, sample.tail), each(c.base, sample.tail)
	b.ReportMetric(rate.median, "ours-req/s")
	b.ReportMetric(bareRate.median, "base-req/s")
	b.ReportMetric(cost.median/1000, "ours-cpu-us")
	b.ReportMetric(bareCost.median/1000, "base-cpu-us")
	b.ReportMetric(tail.median/1e6, "ours-p99-ms")
	b.ReportMetric(bareTail.median/1e6, "base-p99-ms")
	report(b, c.faster(), "rate-ratio")
	report(b, c.dearer(), "cpu-ratio")
	report(b, c.later(), "p99-ratio")
	report(b, c.slower(), "p50-ratio")
	b.Logf("%s, %d connections: flakepass %.0f/s, %.1f us of CPU each, p99 %.2f ms; %s %.0f/s, %.1f us, %.2f ms; rate %s, CPU %s, p99 %s, p50 %s",
		with.name, with.connections, rate.median, cost.median/1000, tail.median/1e6, baseline, bareRate.median, bareCost.median/1000, bareTail.median/1e6,
		c.faster(), c.dearer(), c.later(), c.slower())
}
