package sessiontest_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/sessiontest"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
	"github.com/flakepass/flakepass/internal/store/layer"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

type (
	opener = func(*testing.T) sessiontest.Stack
	stack  = func(*testing.T, opener) opener
)

func TestMemory(t *testing.T) { sessiontest.TestStack(t, memory) }

func TestTierOverMemory(t *testing.T) {
	for name, over := range map[string]stack{"writebehind": touch, "redisstore": redis, "memstore": mem} {
		t.Run(name, func(t *testing.T) { sessiontest.TestStack(t, over(t, memory)) })
	}
}

func TestDatabase(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) { sessiontest.TestStack(t, open(t)) })
	}
}

func TestWholeStack(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			base := open(t)
			t.Run("with Redis", func(t *testing.T) {
				sessiontest.TestStack(t, mem(t, redis(t, touch(t, base))))
			})
			t.Run("without Redis", func(t *testing.T) {
				sessiontest.TestStack(t, mem(t, touch(t, base)))
			})
		})
	}
}

func memory(*testing.T) sessiontest.Stack {
	m := &sessiontest.Memory{}
	return sessiontest.Stack{Store: m, Writer: m, AddUser: m.AddUser}
}

func touch(_ *testing.T, base opener) opener {
	return func(t *testing.T) sessiontest.Stack {
		s := base(t)
		p := policy.Default()
		p.Touch = time.Millisecond
		tier := layer.NewWriteBehind(s.Store, layer.WriteBehindOptions{To: s.Store.(layer.Writer), Policy: policy.Fixed(p), Log: slog.New(slog.DiscardHandler)})
		s.Store = tier
		s.Settle = func(t *testing.T) {
			t.Helper()
			if err := tier.Flush(t.Context()); err != nil {
				t.Errorf("Flush: %v", err)
			}
		}
		return s
	}
}

// redis has one server for all stacks: their sessions have different IDs.
func redis(t *testing.T, base opener) opener {
	server := testenv.Redis(t)
	rdb := redisstore.Open(redisstore.Server{Addrs: []string{server.Addr}})
	t.Cleanup(func() { _ = rdb.Close() })
	return func(t *testing.T) sessiontest.Stack {
		s := base(t)
		tier, err := redisstore.NewSessions(rdb, s.Store, redisstore.Options{Key: make([]byte, 32), Bound: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s.Store = tier
		return s
	}
}

func mem(_ *testing.T, base opener) opener {
	return func(t *testing.T) sessiontest.Stack {
		s := base(t)
		tier, err := memstore.NewSessions(s.Store, memstore.Options{Entries: 1000, Bound: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s.Store = tier
		return s
	}
}

var databases = map[string]func(*testing.T) opener{
	"SQLite": func(t *testing.T) opener {
		return database(t, migrations.SQLite, migrated.SQLite(t))
	},
	"MySQL":   func(t *testing.T) opener { return mysql(t, migrated.MySQL(t)) },
	"MariaDB": func(t *testing.T) opener { return mysql(t, migrated.MariaDB(t)) },
}

func mysql(t *testing.T, dsn string) opener {
	t.Helper()
	source, err := sqlstore.MySQLSourceDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return database(t, migrations.MySQL, source)
}

func database(t *testing.T, d migrations.Dialect, source string) opener {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: d, Source: source, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store, users := &sqlstore.Sessions{DB: db}, &sqlstore.Users{DB: db}
	var last atomic.Int64
	add := func(t *testing.T) (idworker.ID, string) {
		t.Helper()
		id := idworker.ID(last.Add(1))
		now := time.Now()
		u := account.User{
			ID: id, Username: "user" + id.String(), PasswordVersion: 1, Role: account.RoleUser,
			CreatedAt: now, UpdatedAt: now,
		}
		if err := users.Create(t.Context(), u); err != nil {
			t.Fatalf("create a user: %v", err)
		}
		return id, u.Username
	}
	return func(*testing.T) sessiontest.Stack {
		return sessiontest.Stack{Store: session.Store(store), Writer: store, AddUser: add}
	}
}
