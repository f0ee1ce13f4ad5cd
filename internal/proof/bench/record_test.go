package bench

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkLoginRecord compares POST /v1/login with and without an event in the
// record for each (FLAKEPASS_AUDIT_LOGINS), on SQLite.
func BenchmarkLoginRecord(b *testing.B) {
	program := buildFlakepass(b)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 4 * runtime.GOMAXPROCS(0)}}
	b.Cleanup(client.CloseIdleConnections)
	side := func(setting string) func() sample {
		data := b.TempDir()
		seed(b, data)
		server := startFlakepass(b, program, data, "audit_logins: "+setting)
		var who atomic.Int64
		return func() sample {
			cpu := server.cpu(b)
			s := together(2*runtime.GOMAXPROCS(0), hashes, func() {
				if err := logIn(b, client, server.addr, int(who.Add(1))%people); err != nil {
					b.Error(err)
				}
			})
			s.cpu = server.cpu(b) - cpu
			return s
		}
	}
	c := compare(b, httpRounds, side("on"), side("off"))
	report(b, c.faster(), "rate-ratio")
	report(b, c.dearer(), "cpu-ratio")
	b.Logf("with an event and without: rate %s, CPU %s", c.faster(), c.dearer())
}
