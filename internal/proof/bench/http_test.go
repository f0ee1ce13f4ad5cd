package bench

import (
	"fmt"
	"regexp"
	"strconv"
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
	b.Run("me", func(b *testing.B) { benchmarkMe(b, program) })
	b.Run("verify-redis", func(b *testing.B) { benchmarkVerifyRedis(b, program) })
	b.Run("login", func(b *testing.B) { benchmarkLogin(b, program) })
}

// benchmarkMe compares GET /v1/me, for people whom memory knows, with the same
// JSON from a handler that checks no token.
func benchmarkMe(b *testing.B, program string) {
	data := b.TempDir()
	tokens, _ := seed(b, data)
	ours, bare := startFlakepass(b, program, data), startSelf(b, "serve-bare", "/v1/me")
	with := newLoader(b)
	c := compare(b, httpRounds,
		func() sample { return with.run(b, ours, "/v1/me", tokens) },
		func() sample { return with.run(b, bare, "/v1/me", tokens) })
	reportHTTP(b, c, with.name, "bare gin")
}

// benchmarkVerifyRedis compares GET /v1/verify, for tokens that the instance
// has not seen but Redis knows, with a handler that sends one GET to the same
// Redis. The instance has room for 100 logins in memory and meets 20,000 in
// turn, so memory has forgotten each when it comes again.
func benchmarkVerifyRedis(b *testing.B, program string) {
	const bound = 5 * time.Minute // so that Redis need not be filled again within the benchmark
	data := b.TempDir()
	_, key := seed(b, data)
	shared := testenv.Redis(b)
	tokens := strangers(b, shared.Addr, key, bound, testenv.Brief(20_000, 1000))
	ours := startFlakepass(b, program, data, "redis: "+shared.URL(), "revocation_bound: "+bound.String(), "cache_entries: 100")
	bare := startSelf(b, "serve-redis", "/v1/verify", shared.Addr)
	with := newLoader(b)
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
	reportHTTP(b, c, with.name, "gin with one go-redis GET")
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

func reportHTTP(b *testing.B, c contest, with, baseline string) {
	b.Helper()
	rate, bareRate := each(c.ours, sample.rate), each(c.base, sample.rate)
	cost, bareCost := each(c.ours, sample.cost), each(c.base, sample.cost)
	b.ReportMetric(rate.median, "ours-req/s")
	b.ReportMetric(bareRate.median, "base-req/s")
	b.ReportMetric(cost.median/1000, "ours-cpu-us")
	b.ReportMetric(bareCost.median/1000, "base-cpu-us")
	report(b, c.faster(), "rate-ratio")
	report(b, c.dearer(), "cpu-ratio")
	b.Logf("%s, %d connections: flakepass %.0f/s and %.1f us of CPU each; %s %.0f/s and %.1f us; rate %s, CPU %s",
		with, connections, rate.median, cost.median/1000, baseline, bareRate.median, bareCost.median/1000, c.faster(), c.dearer())
}
