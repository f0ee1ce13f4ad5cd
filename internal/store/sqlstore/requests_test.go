//go:build unix

package sqlstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// requests adds n requests of an issuer of that age, beginning with that number.
func (w *world) requests(t *testing.T, from, n int, age time.Duration) {
	t.Helper()
	const row = ", (1, ?, x'01', 1, 1, 0, ?)"
	var args []any
	for i := range n {
		args = append(args, []byte{byte((from + i) >> 8), byte(from + i)}, time.Now().Add(-age).UnixMilli())
	}
	w.run(t, "INSERT INTO issue_requests (key_id, request, body, token_id, user_id, factor_at, created_at) VALUES "+strings.Repeat(row, n)[2:], args...)
}

// TestRequestsAreClearedFewAtATime: a statement for each of a thousand takes longer than a transaction may
// on a database three milliseconds away, and then none would ever be deleted.
func TestRequestsAreClearedFewAtATime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.requests(t, 0, 2100, session.RequestLife+time.Minute)
		w.requests(t, 2100, 100, session.RequestLife-time.Minute)
		spy := w.spy(t)
		must(t, w.sessions.ClearRequests(t.Context()))
		together := map[any]int{}
		for _, s := range spy.take() {
			if together[s.in]++; together[s.in] == 21 {
				t.Error("one transaction has more than 20 statements")
			}
		}
		if n := w.number(t, "SELECT COUNT(*) FROM issue_requests"); n != 100 {
			t.Errorf("%d are left, want the 100 that may be repeated", n)
		}
	})
}

// TestRequestsAreClearedWhileClocksDiffer: the time of the deployment is that of the server that is
// ahead, also where rows are deleted. By that of the server that is asked, they would be found again and again.
func TestRequestsAreClearedWhileClocksDiffer(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		w.requests(t, 0, 1000, session.RequestLife-50*time.Second)
		// Another server polls, whose clock is a minute ahead.
		w.run(t, "INSERT INTO polls (instance, polled_at) VALUES ('other', ?)", time.Now().Add(time.Minute).UnixMilli())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // only so that it ends
		defer cancel()
		must(t, w.sessions.ClearRequests(ctx))
		if n := w.number(t, "SELECT COUNT(*) FROM issue_requests"); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// TestClearingRequestsWaitsForNoNewOne: nor does it keep others from adding one, whatever few rows there are.
func TestClearingRequestsWaitsForNoNewOne(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		for _, old := range []int{1, 30, 99, 100, 101, 250, 2100} {
			w.requests(t, 0, old, session.RequestLife+time.Minute)
			tx, err := w.SQL().BeginTx(t.Context(), nil)
			must(t, err)
			for _, name := range []string{"\x00\x00\x00", "zz"} { // between the old ones, and behind them
				_, err := tx.ExecContext(t.Context(), "INSERT INTO issue_requests (key_id, request, body, token_id, user_id, factor_at, created_at) VALUES (1, ?, x'01', 1, 1, 0, ?)",
					name, time.Now().UnixMilli())
				must(t, err)
			}
			if err := w.sessions.ClearRequests(t.Context()); err != nil {
				t.Errorf("beside %d old ones: %v", old, err)
			}
			if n := number64(t, w.SQL(), "SELECT COUNT(*) FROM issue_requests"); n != 0 {
				t.Errorf("%d old ones are left", n)
			}
			must(t, tx.Rollback())
		}
	})
}
