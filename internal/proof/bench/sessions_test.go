package bench

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// BenchmarkSessions compares GET /v1/verify of an instance with Redis, for people who are
// logged in, with the check of a session by libraries that keep sessions in Redis: in a
// process of its own each, an empty answer, 500 people, the same Redis. flakepass answers
// from memory what it asked less than half a minute ago, and the libraries read from Redis
// for each request; so they know of an end at once, and flakepass within its bound.
func BenchmarkSessions(b *testing.B) {
	program, peers := buildFlakepass(b), buildPeers(b)
	for _, library := range []string{"scs", "gin-sessions"} {
		b.Run(library, func(b *testing.B) {
			data := b.TempDir()
			tokens, _ := seed(b, data)
			shared := testenv.Redis(b)
			ours := startFlakepass(b, program, data, "redis: "+shared.URL())
			ask(b, ours, "/v1/verify", firstLine(b, tokens), http.StatusOK)
			credentials := filepath.Join(b.TempDir(), "credentials")
			peer := start(b, peers, "/v1/verify", func(addr, _ string) []string { return []string{library, addr, shared.Addr, credentials} })
			ask(b, peer, "/v1/verify", firstLine(b, credentials), http.StatusOK)
			ask(b, peer, "/v1/verify", "of-nobody", http.StatusUnauthorized)
			with := newLoader(b, connections, http.StatusOK)
			c := compare(b, httpRounds,
				func() sample { return with.run(b, ours, "/v1/verify", tokens) },
				func() sample { return with.run(b, peer, "/v1/verify", credentials) })
			reportHTTP(b, c, with, library)
		})
	}
}

// buildPeers builds the servers of the module below, which no module of ours requires.
func buildPeers(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "peers")
	build := exec.Command("go", "build", "-tags", "nomsgpack", "-o", path, ".") //nolint:noctx // bounded by the timeout of the whole run
	build.Dir, build.Env = "libraries", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatal(fmt.Errorf("go build of the peers: %w\n%s", err, out))
	}
	return path
}
