package run

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	schema "github.com/flakepass/flakepass/internal/proof/testenv/migrated"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// compares keeps what was compared, and computes nothing.
type compares struct {
	account.Here
	with *string
}

func (c compares) Compare(_, phc string) (bool, error) { *c.with = phc; return false, nil }

// TestInstancesFollowTheFormatsOfAccounts: what was imported is computed for unknown names
// once the counts were read, and after a sweep as much less as accounts have been upgraded;
// all instances compute the same for a name, and a deployment without imports counts nothing.
func TestInstancesFollowTheFormatsOfAccounts(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	db, err := sqlstore.Open(ctx, sqlstore.Options{Dialect: migrations.SQLite, Source: schema.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string) {
		t.Helper()
		if _, err := db.SQL().ExecContext(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	var with string
	instance := func() formats {
		h, err := account.NewHasher(compares{with: &with}, account.DefaultParams(), 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		return formats{db, h, slog.New(slog.DiscardHandler)}
	}
	foreign := func(f formats) (names string) {
		f.read(ctx)
		for i := range 400 {
			if err := f.hasher.Decoy(ctx, account.Asker{}, fmt.Sprint("nobody", i), account.NewPassword("x")); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(with, "$2b$10$") {
				names += fmt.Sprint(i, " ")
			}
		}
		return names
	}
	one, other := instance(), instance()
	one.afterSweep(ctx)
	if foreign(one) != "" {
		t.Error("before any import")
	}
	for i := range 100 {
		exec(fmt.Sprintf("INSERT INTO users (id, username, password_hash, role, created_at, updated_at) VALUES (%d, 'u%d', '%s', 'user', 1, 1)",
			i+1, i, "$2b$10$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"))
	}
	store := &sqlstore.HashFormats{DB: db}
	if _, err := store.Count(ctx, one.hasher.Format, true); err != nil {
		t.Fatal(err)
	}
	all := foreign(one)
	if n := len(strings.Fields(all)); n != 400 || foreign(other) != all {
		t.Errorf("%d names of 400, and on another instance %q", n, foreign(other))
	}
	exec("UPDATE users SET password_hash = '' WHERE id > 50")
	one.afterSweep(ctx)
	if foreign(one) != all {
		t.Error("counted within an hour")
	}
	exec("UPDATE hash_formats SET counted_at = counted_at - 3600000")
	one.afterSweep(ctx)
	half := foreign(one)
	if n := len(strings.Fields(half)); n < 150 || n > 250 || foreign(other) != half {
		t.Errorf("%d names of 400 after half of the accounts, and on another instance %d", n, len(strings.Fields(foreign(other))))
	}
	users := func() (n int64) {
		counts, err := store.Load(ctx)
		if err != nil || len(counts) == 0 {
			t.Fatal(err)
		}
		for _, c := range counts {
			if c.Format != "" {
				n += c.Users
			}
		}
		return n
	}
	exec("UPDATE users SET password_hash = '' WHERE id > 1")
	exec("UPDATE hash_formats SET counted_at = counted_at - 3600000")
	one.afterSweep(ctx)
	exec("UPDATE users SET password_hash = ''")
	for _, c := range []struct{ hours, want int64 }{{2, 1}, {22, 0}} { // once a day: one of a hundred is left
		exec(fmt.Sprintf("UPDATE hash_formats SET counted_at = counted_at - %d", c.hours*3600000))
		if one.afterSweep(ctx); users() != c.want {
			t.Errorf("%d hours later: %d users, want %d", c.hours, users(), c.want)
		}
	}
}
