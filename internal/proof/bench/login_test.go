package bench

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// hashes is how many of them one side of a round makes: logins over HTTP, or
// bare ones.
var hashes = testenv.Brief(50, 2)

// benchmarkLogin compares POST /v1/login with nothing but its Argon2id, as many
// at a time as there are processors on both sides.
func benchmarkLogin(b *testing.B, program string) {
	data := b.TempDir()
	seed(b, data)
	ours := startFlakepass(b, program, data)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * runtime.GOMAXPROCS(0)}}
	b.Cleanup(client.CloseIdleConnections)
	var who atomic.Int64
	c := compare(b, httpRounds,
		func() sample {
			// Twice as many ask as are served, so that hashing never
			// waits for the next request.
			cpu := ours.cpu(b)
			s := together(2*runtime.GOMAXPROCS(0), hashes, func() {
				if err := logIn(b, client, ours.addr, int(who.Add(1))%people); err != nil {
					b.Error(err)
				}
			})
			s.cpu = ours.cpu(b) - cpu
			return s
		},
		func() sample {
			cpu := ownCPU(b)
			s := together(runtime.GOMAXPROCS(0), hashes, bareHash)
			s.cpu = ownCPU(b) - cpu
			return s
		})
	rate, bareRate := each(c.ours, sample.rate), each(c.base, sample.rate)
	b.ReportMetric(rate.median, "ours-logins/s")
	b.ReportMetric(bareRate.median, "base-hashes/s")
	report(b, c.faster(), "rate-ratio")
	report(b, c.dearer(), "cpu-ratio")
	b.Logf("flakepass %.1f logins/s, bare Argon2id %.1f hashes/s; rate %s, CPU %s", rate.median, bareRate.median, c.faster(), c.dearer())
}

// together calls f n times in all, from that many goroutines.
func together(goroutines, n int, f func()) sample {
	var at atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range goroutines {
		all.Go(func() {
			for at.Add(1) <= int64(n) {
				f()
			}
		})
	}
	all.Wait()
	return sample{ops: n, wall: time.Since(start)}
}

func bareHash() {
	p := account.DefaultParams()
	argon2.IDKey([]byte(passphrase), []byte("sixteen bytes of"), p.Iterations, p.MemoryKiB, p.Parallelism, 32)
}

func logIn(tb testing.TB, client *http.Client, addr string, i int) error {
	body := fmt.Sprintf(`{"username":"person.%06d","password":%q}`, i, passphrase)
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "http://"+addr+"/v1/login", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || !strings.Contains(string(text), `"token":"fp_`) {
		return fmt.Errorf("login: %s: %d bytes", answer.Status, len(text)) // the text may hold a token
	}
	return nil
}
