package firstadmin_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/firstadmin"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// kinds are the databases that every promise here is held on, migrated.
var kinds = map[string]func(testing.TB) sqlstore.Options{
	"SQLite": func(t testing.TB) sqlstore.Options {
		t.Helper()
		return sqlstore.Options{Dialect: migrations.SQLite, Source: migrated.SQLite(t)}
	},
	"MySQL":   func(t testing.TB) sqlstore.Options { t.Helper(); return onServer(t, migrated.MySQL(t)) },
	"MariaDB": func(t testing.TB) sqlstore.Options { t.Helper(); return onServer(t, migrated.MariaDB(t)) },
}

func onServer(t testing.TB, dsn string) sqlstore.Options {
	t.Helper()
	source, err := sqlstore.MySQLSourceDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return sqlstore.Options{Dialect: migrations.MySQL, Source: source}
}

// instance is one instance on a database.
func instance(t *testing.T, o sqlstore.Options) (*firstadmin.Users, *sqlstore.Users) {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	all := &sqlstore.Users{DB: db}
	return &firstadmin.Users{Named: all, DB: db.SQL(), Dialect: db.Dialect(), Row: sqlstore.EventRow}, all
}

// recorded is the event of a first admin, with the admin's own ID.
func recorded(u account.User) audit.Event {
	return audit.Event{ID: u.ID, Action: audit.UserCreated, Target: audit.Target{Kind: "user", ID: u.ID}}
}

// made is Create with that event.
func made(t *testing.T, by *firstadmin.Users, u account.User) error {
	t.Helper()
	return by.Create(t.Context(), u, recorded(u))
}

func admin(id idworker.ID, name string) account.User {
	now := time.UnixMilli(1_700_000_000_123).UTC()
	return account.User{
		ID: id, Username: name, Role: account.RoleAdmin, PasswordHash: account.NewPHC("$hash$" + name),
		PasswordVersion: 1, CreatedAt: now, UpdatedAt: now,
	}
}

// TestOneOfAHundredIsTheFirst: a hundred who were all told that there is no
// admin, on two instances, and the database takes one.
func TestOneOfAHundredIsTheFirst(t *testing.T) {
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			o := options(t)
			o.MaxConns = 8 // as sqlstore's own races
			here, all := instance(t, o)
			there, _ := instance(t, o)
			const people = 100
			errs := make([]error, people)
			start := make(chan struct{})
			var making sync.WaitGroup
			for i := range people {
				making.Go(func() {
					<-start
					errs[i] = made(t, []*firstadmin.Users{here, there}[i%2], admin(idworker.ID(i+1), fmt.Sprintf("admin%d", i)))
				})
			}
			close(start)
			making.Wait()
			made, late := 0, 0
			for _, err := range errs {
				switch {
				case err == nil:
					made++
				case errors.Is(err, account.ErrHasAdmin):
					late++
				default:
					t.Logf("undecided: %v", err)
				}
			}
			users, err := all.List(t.Context(), 0, people)
			if err != nil {
				t.Fatal(err)
			}
			events, err := (&sqlstore.Audit{DB: all.DB}).List(t.Context(), audit.Filter{Limit: people})
			if err != nil || len(events) != 1 || len(users) == 1 && events[0].ID != users[0].ID {
				t.Errorf("the record has %v, %v; want the first admin", events, err)
			}
			if made != 1 || len(users) != 1 || late < people/2 {
				t.Errorf("%d were told that they are the first, %d that they are not, and there are %d", made, late, len(users))
			}
		})
	}
}

func TestFirstAdminIsAnAccountLikeOthers(t *testing.T) {
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			first, all := instance(t, options(t))
			taken := admin(1, "grace")
			taken.Role = account.RoleUser
			if err := all.Create(t.Context(), taken); err != nil {
				t.Fatal(err)
			}
			if err := made(t, first, admin(2, "grace")); !errors.Is(err, account.ErrExists) {
				t.Errorf("a name that is taken: %v, want ErrExists", err)
			}
			if err := made(t, first, taken); !errors.Is(err, account.ErrRole) {
				t.Errorf("a user who is no admin: %v, want ErrRole", err)
			}
			want := admin(3, "ada")
			if err := made(t, first, want); err != nil {
				t.Fatal(err)
			}
			got, err := all.ByUsername(t.Context(), "ada")
			if err != nil || got.ID != want.ID || got.Role != want.Role || !got.PasswordHash.Equal(want.PasswordHash) ||
				got.PasswordVersion != 1 || got.Disabled() || !got.CreatedAt.Equal(want.CreatedAt) || !got.UpdatedAt.Equal(want.UpdatedAt) {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
			if err := made(t, first, admin(4, "eve")); !errors.Is(err, account.ErrHasAdmin) {
				t.Errorf("a second: %v, want ErrHasAdmin", err)
			}
		})
	}
}
