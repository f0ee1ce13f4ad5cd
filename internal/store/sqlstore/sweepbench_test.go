//go:build unix

package sqlstore_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// BenchmarkSweep clears 200,000 logins of 400,000 users on MySQL while people
// log in, half of whom have a login that is over, and are seen. It reports
// the rows cleared in a second, and how long those people waited: with nothing
// beside them, with the sweep, and with one UPDATE that does the same.
//
//	bin/withservers -only mysql -- go test -tags nomsgpack -run '^$' -bench Sweep -benchtime 1x ./internal/store/sqlstore
func BenchmarkSweep(b *testing.B) {
	for _, c := range []struct {
		name string
		do   func(b *testing.B, w *world) int64
	}{
		{"nothing", func(*testing.B, *world) int64 {
			<-time.After(testenv.Brief(10*time.Second, 200*time.Millisecond))
			return 0
		}},
		{"the sweep", func(b *testing.B, w *world) int64 { b.Helper(); return w.bench(b) }},
		{"one UPDATE", func(b *testing.B, w *world) int64 {
			b.Helper()
			r, err := w.SQL().ExecContext(b.Context(), "UPDATE users SET token_floor = token_id, ended_token_id = token_id, "+
				"ended_token_hash = token_hash, ended_reason = 'idle', token_id = NULL, token_hash = NULL, token_seen_at = NULL "+
				"WHERE token_id <= ?", int64(idworker.Default().Smallest(start.Add(time.Hour))))
			if err != nil {
				b.Fatal(err)
			}
			n, _ := r.RowsAffected()
			return n
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			o := onServer(b, testenv.MySQL(b))
			o.Patient = true
			w := newWorld(b, o)
			for _, setting := range testenv.Brief([]string{"innodb_buffer_pool_size", "innodb_redo_log_capacity"}, nil) {
				w.exec(b, "SET GLOBAL "+setting+" = 1073741824")
			}
			for b.Loop() {
				b.StopTimer()
				w.town(b)
				var mu sync.Mutex
				var waits []time.Duration
				failed := 0
				stop := make(chan struct{})
				var all sync.WaitGroup
				visit := func(every time.Duration, do func(k int) error) {
					all.Go(func() {
						tick := time.NewTicker(every)
						defer tick.Stop()
						for k := 0; ; k++ {
							select {
							case <-stop:
								return
							case <-tick.C:
								all.Go(func() {
									begun := time.Now()
									err := do(k)
									mu.Lock()
									defer mu.Unlock()
									waits = append(waits, time.Since(begun))
									if err != nil {
										failed++
									}
								})
							}
						}
					})
				}
				visit(20*time.Millisecond, func(k int) error {
					_, err := w.login(b.Context(), w.opening(townsman(k*7919%town)))
					return err
				})
				visit(50*time.Millisecond, func(k int) error {
					seen := map[idworker.ID]time.Time{}
					for j := range 50 {
						seen[townsman((k*50+j)*2%town+1)+aboveStale] = time.Now()
					}
					_, err := w.sessions.TouchAll(b.Context(), seen, time.Second)
					return err
				})
				b.StartTimer()
				begun, cpu := time.Now(), w.cpu(b)
				n := c.do(b, w)
				took := time.Since(begun)
				b.StopTimer()
				close(stop)
				all.Wait()
				slices.Sort(waits)
				at := func(q float64) float64 { return float64(waits[int(q*float64(len(waits)-1))].Microseconds()) / 1000 }
				b.ReportMetric(float64(n)/took.Seconds(), "rows/s")
				if n > 0 {
					b.ReportMetric(float64((w.cpu(b)-cpu).Microseconds())/float64(n), "mysqld-µs/row")
				}
				if len(waits) > 0 { // there may be none of so short a run as a test makes
					b.ReportMetric(at(.5), "p50-ms")
					b.ReportMetric(at(.99), "p99-ms")
					b.ReportMetric(at(1), "max-ms")
				}
				b.ReportMetric(float64(failed), "failed")
				b.StartTimer()
			}
		})
	}
}

// bench runs passes until nothing is left.
func (w *world) bench(b *testing.B) (cleared int64) {
	b.Helper()
	s := w.sweeper(b)
	p := policy.Default()
	p.AbsoluteBase = start.Add(time.Hour)
	s.Policy, s.Limits = w.follow(b, p), sweep.Limits{}
	for {
		r := once(b, s)
		cleared += r.Cleared
		b.Logf("%+v", r)
		if r.Outcome == "done" {
			return cleared
		}
	}
}

// cpu is the CPU time that the server has used, which depends less on what else
// the machine does.
func (w *world) cpu(b *testing.B) time.Duration {
	b.Helper()
	var file string
	if err := w.SQL().QueryRowContext(b.Context(), "SELECT @@pid_file").Scan(&file); err != nil {
		b.Fatal(err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // in steps of 10 ms, on every Linux
}

var town = testenv.Brief(400_000, 4000)

// aboveStale is what the ID of a living login has above that of its user.
const aboveStale = idworker.ID(1) << 57

// townsman is the i-th user. Even ones have a login that is over.
func townsman(i int) idworker.ID {
	return idworker.Default().Smallest(start.Add(-time.Hour)) + idworker.ID(i)<<22
}

func (w *world) town(b *testing.B) {
	b.Helper()
	w.exec(b, "TRUNCATE users")
	var q strings.Builder
	for i := 0; i < town; i += 2000 {
		q.Reset()
		q.WriteString("INSERT INTO users (id, username, password_hash, role, token_id, token_hash, token_seen_at, created_at, updated_at) VALUES ")
		for j := i; j < i+2000; j++ {
			// Logins lie across the order of users, as they do in life.
			token := townsman(j * 7_368_787 % town)
			if j%2 == 1 {
				token = townsman(j) + aboveStale
			}
			if j > i {
				q.WriteByte(',')
			}
			fmt.Fprintf(&q, "(%d, 'person.%08d', '%s', 'user', %d, x'01%064x', %d, 0, 0)", townsman(j), j,
				"$argon2id$v=19$m=19456,t=2,p=1$c2NhbGVzY2FsZXNjYWxlcw$c2NhbGVzY2FsZXNjYWxlc2NhbGVzY2FsZXNjYWxlc2M", token, token, start.UnixMilli()+int64(j))
		}
		w.exec(b, q.String())
	}
	w.exec(b, "ANALYZE TABLE users")
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
