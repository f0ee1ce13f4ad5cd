//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A row is what the database says of one user, every column of it.
type row struct {
	Username, PasswordHash, Role         string
	Version                              int64
	DisabledAt, Token, Seen, Ended       sql.NullInt64
	TokenHash, EndedHash                 []byte
	Reason                               sql.NullString
	Floor, FloorAt, CreatedAt, UpdatedAt int64
}

func (w *world) row(t testing.TB, user idworker.ID) (r row) {
	t.Helper()
	err := w.SQL().QueryRowContext(t.Context(), `SELECT username, password_hash, role, password_version, disabled_at,
		token_id, token_seen_at, ended_token_id, token_hash, ended_token_hash, ended_reason, token_floor, token_floor_at,
		created_at, updated_at FROM users WHERE id = ?`, int64(user)).
		Scan(&r.Username, &r.PasswordHash, &r.Role, &r.Version, &r.DisabledAt, &r.Token, &r.Seen, &r.Ended,
			&r.TokenHash, &r.EndedHash, &r.Reason, &r.Floor, &r.FloorAt, &r.CreatedAt, &r.UpdatedAt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// number is the one number that a query gives.
func (w *world) number(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	if err := w.SQL().QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (w *world) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := w.SQL().ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// logins adds users 1, 2, 3 and so on, each with the login that give returns, by
// few statements.
func (w *world) logins(t testing.TB, n int, give func(i int) (id idworker.ID, hash session.Hash, seen time.Time)) {
	t.Helper()
	const most = 250 // in one statement
	for from := 0; from < n; from += most {
		rows, args := make([]string, 0, most), make([]any, 0, 5*most)
		for i := from; i < min(from+most, n); i++ {
			id, hash, seen := give(i)
			rows = append(rows, "(?, ?, '', 'user', 0, 0, ?, ?, ?)")
			args = append(args, i+1, "user "+strconv.Itoa(i+1), int64(id), hash[:], seen.UnixMilli())
		}
		w.exec(t, "INSERT INTO users (id, username, password_hash, role, created_at, updated_at, token_id, token_hash, token_seen_at) VALUES "+
			strings.Join(rows, ", "), args...)
	}
}

// sound checks what holds of every row at every time. It asks the tables, not
// their constraints.
func (w *world) sound(t testing.TB) {
	t.Helper()
	for broken, where := range map[string]string{
		"a token at or below its floor":                     "token_id <= token_floor",
		"a token without hash or time, or these without it": "(token_id IS NULL) <> (token_hash IS NULL) OR (token_id IS NULL) <> (token_seen_at IS NULL)",
		"an ending without hash or reason":                  "(ended_token_id IS NULL) <> (ended_token_hash IS NULL) OR (ended_token_id IS NULL) <> (ended_reason IS NULL)",
		"an ending without a reason":                        "ended_reason = ''",
		"an ended token above the floor":                    "ended_token_id > token_floor",
		"a disabled user with a login":                      "disabled_at IS NOT NULL AND token_id IS NOT NULL",
		"a login that somebody else had":                    "token_id IN (SELECT ended_token_id FROM users WHERE ended_token_id IS NOT NULL UNION SELECT ended_token_id FROM user_slots WHERE ended_token_id IS NOT NULL)",
	} {
		n := w.number(t, "SELECT COUNT(*) FROM users WHERE "+where)
		where = strings.Replace(where, "disabled_at IS NOT NULL", "user_id IN (SELECT id FROM users WHERE disabled_at IS NOT NULL)", 1)
		if n += w.number(t, "SELECT COUNT(*) FROM user_slots WHERE "+where); n != 0 {
			t.Errorf("%d rows have %s", n, broken)
		}
	}
	if n := w.number(t, "SELECT COUNT(*) FROM users u JOIN user_slots s ON u.token_id = s.token_id"); n != 0 {
		t.Errorf("%d logins are in two slots", n)
	}
}

// A watch polls the floors of all users until it is stopped, and says if one
// ever fell.
func (w *world) watch(t *testing.T) (stop func()) {
	t.Helper()
	db := open(t, w.options).SQL()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- floorsRise(ctx, db) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func floorsRise(ctx context.Context, db *sql.DB) error {
	highest := map[int64]int64{}
	for {
		rows, err := db.QueryContext(ctx, "SELECT id, token_floor FROM users")
		for err == nil && rows.Next() {
			var id, floor int64
			if err = rows.Scan(&id, &floor); err == nil && floor < highest[id] {
				return errors.Join(fmt.Errorf("the floor of user %d fell from %d to %d", id, highest[id], floor), rows.Close())
			}
			highest[id] = max(highest[id], floor)
		}
		if rows != nil {
			err = errors.Join(err, rows.Err(), rows.Close())
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
