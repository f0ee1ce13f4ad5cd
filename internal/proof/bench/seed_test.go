package bench

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// people is how many accounts a server of a comparison has.
var people = testenv.Brief(500, 10)

const passphrase = "a lantern above the harbour"

// seed makes a data directory with an account and a login for each of people,
// before a server runs on it. It returns the file of their tokens and the key
// of the deployment.
func seed(tb testing.TB, data string) (tokens string, key []byte) {
	tb.Helper()
	ctx := tb.Context()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	db, err := sqlstore.Open(ctx, sqlstore.Options{Dialect: migrations.SQLite, Source: filepath.Join(data, "flakepass.db")})
	must(err)
	defer db.Close()
	_, err = migrations.Up(ctx, db.SQL(), db.Dialect(), nil)
	must(err)
	hasher, err := account.NewHasher(account.Here{}, account.DefaultParams(), 1, 0)
	must(err)
	phc, err := hasher.Hash(ctx, account.Asker{}, account.NewPassword(passphrase)) // one for all: nobody looks
	must(err)
	users, kept := &sqlstore.Users{DB: db}, &sqlstore.Sessions{DB: db}
	var texts []string
	for i := range people {
		now := time.Now()
		token, s := mint(tb, now, i)
		must(users.Create(ctx, account.User{
			ID: s.UserID, Username: s.Username, Role: account.RoleUser, PasswordHash: phc, PasswordVersion: 1,
			CreatedAt: now, UpdatedAt: now,
		}))
		_, err := kept.Begin(ctx, session.Opening{
			ID: s.ID, Hash: s.Hash, UserID: s.UserID, PasswordVersion: 1, Seen: now,
		})
		must(err)
		texts = append(texts, token.Reveal())
	}
	key, err = (&sqlstore.Settings{DB: db}).CacheKey(ctx)
	must(err)
	return writeLines(tb, texts), key
}

// strangers puts that many sessions into Redis and nowhere else, each in the
// form of the product and as what the plain handler looks up, and returns the
// file of their tokens. Who is accepted was found in Redis.
func strangers(tb testing.TB, addr string, key []byte, bound time.Duration, n int) string {
	tb.Helper()
	rdb := redisstore.Open(redisstore.Server{Addrs: []string{addr}})
	defer rdb.Close()
	behind := &ledger{sessions: make(map[idworker.ID]session.Session)}
	ids, texts := make([]idworker.ID, n), make([]string, n)
	for i := range n {
		token, s := mint(tb, time.Now().Add(-time.Hour), i)
		behind.sessions[s.ID], ids[i], texts[i] = s, s.ID, token.Reveal()
	}
	tier, err := redisstore.NewSessions(rdb, behind, redisstore.Options{Key: key, Bound: bound})
	if err != nil {
		tb.Fatal(err)
	}
	value := strings.Repeat("v", 150) // as long as the product's
	var at atomic.Int64
	var all sync.WaitGroup
	for range 8 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := int(at.Add(1)) - 1; i < n; i = int(at.Add(1)) - 1 {
				if _, err := tier.Get(tb.Context(), ids[i], behind.sessions[ids[i]].Hash); err != nil {
					tb.Error(err)
					return
				}
				if err := rdb.Set(tb.Context(), bareKey(texts[i]), value, time.Hour).Err(); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if tb.Failed() {
		tb.FailNow()
	}
	return writeLines(tb, texts)
}

func writeLines(tb testing.TB, lines []string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// disable disables the i-th of people, before a server runs.
func disable(tb testing.TB, data string, i int) {
	tb.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "flakepass.db"))
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(tb.Context(), "UPDATE users SET disabled_at = ? WHERE username = ?", time.Now().UnixMilli(), fmt.Sprintf("person.%06d", i)); err != nil {
		tb.Fatal(err)
	}
}
