//go:build unix

package sqlstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// BenchmarkCheck compares the check of a token that no cache knows with the same statement by
// database/sql alone, prepared once and read into variables of the types of its columns. It
// reports the CPU time of this process for each, in interleaved rounds, and the median of their
// ratios. SQLite runs in this process, MySQL does not.
//
//	bin/withservers -only mysql,mariadb -- go test -tags nomsgpack -run '^$' -bench Check -benchtime 20x ./internal/store/sqlstore
func BenchmarkCheck(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			w := newWorld(b, kind.options(b))
			const users = 100
			var ids [users]idworker.ID
			for i := range ids {
				ids[i] = w.begin(b, w.user(b, fmt.Sprintf("user%d", i))).ID
			}
			prepared, err := w.SQL().PrepareContext(b.Context(), w.Check())
			if err != nil {
				b.Fatal(err)
			}
			times := testenv.Brief(2000, 1)
			round := func(one func(id idworker.ID)) time.Duration {
				from := cpu(b)
				for i := range times {
					one(ids[i%users])
				}
				return (cpu(b) - from) / time.Duration(times)
			}
			var checks, bares []time.Duration
			var ratios []float64
			for b.Loop() {
				check := round(func(id idworker.ID) {
					if got, err := w.sessions.Get(b.Context(), id, session.Hash{}); err != nil || !got.Alive() {
						b.Fatal(got, err)
					}
				})
				bare := round(func(id idworker.ID) { bareCheck(b, prepared, id) })
				checks, bares, ratios = append(checks, check), append(bares, bare), append(ratios, float64(check)/float64(max(bare, 1)))
			}
			b.ReportMetric(float64(median(checks).Nanoseconds())/1e3, "µs/check")
			b.ReportMetric(float64(median(bares).Nanoseconds())/1e3, "µs/bare")
			b.ReportMetric(median(ratios), "ratio")
		})
	}
}

// bareCheck reads the row of a login as somebody would who knows its columns.
func bareCheck(t testing.TB, prepared *sql.Stmt, id idworker.ID) {
	t.Helper()
	rows, err := prepared.QueryContext(t.Context(), int64(id))
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		if err := sqlstore.BareScan(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
}

func cpu(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median[T float64 | time.Duration](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}
