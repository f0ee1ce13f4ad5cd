//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

func admin(id idworker.ID, name string) account.User {
	return account.User{
		ID: id, Username: name, Role: account.RoleAdmin, PasswordHash: account.NewPHC("$hash$" + name),
		PasswordVersion: 1, CreatedAt: start, UpdatedAt: start,
	}
}

// firstAdmin is CreateFirstAdmin with the event of it, which has the ID of the user.
func firstAdmin(t *testing.T, users *sqlstore.Users, u account.User) error {
	t.Helper()
	return users.CreateFirstAdmin(t.Context(), u, audit.Event{
		ID: u.ID, Action: audit.UserCreated, Need: audit.NeedsNothing, Target: audit.Target{Kind: "user", ID: u.ID},
	})
}

// A hundred requests on two instances, each of which saw that there is no admin:
// the database creates one user, with one event.
func TestOneOfAHundredIsTheFirstAdmin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		instances := []*sqlstore.Users{{DB: open(t, w.options)}, {DB: open(t, w.options)}}
		for _, on := range instances {
			on.DB.SQL().SetMaxOpenConns(8) // as TestLoginVsLogin
		}
		const people = 100
		errs := make([]error, people)
		atOnce(people, func(i int) {
			errs[i] = firstAdmin(t, instances[i%2], admin(idworker.ID(i+1), fmt.Sprintf("admin%d", i)))
		})
		created, refused := 0, 0
		for _, err := range errs {
			switch {
			case err == nil:
				created++
			case errors.Is(err, account.ErrHasAdmin):
				refused++
			default:
				t.Logf("undecided: %v", err)
			}
		}
		users, err := w.users.List(t.Context(), 0, people)
		if err != nil {
			t.Fatal(err)
		}
		events, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Limit: people})
		if err != nil || len(events) != 1 || len(users) == 1 && events[0].ID != users[0].ID {
			t.Errorf("the audit log has %v, %v; want the first admin", events, err)
		}
		if created != 1 || len(users) != 1 || refused < people/2 {
			t.Errorf("%d calls succeeded, %d were refused, and there are %d users", created, refused, len(users))
		}
	})
}

func TestFirstAdminIsAnAccountLikeOthers(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		taken := w.user(t, "grace")
		if err := firstAdmin(t, w.users, admin(2, "grace")); !errors.Is(err, account.ErrExists) {
			t.Errorf("a name that is taken: %v, want ErrExists", err)
		}
		if err := firstAdmin(t, w.users, admin(taken, "ada")); err == nil || errors.Is(err, account.ErrExists) {
			t.Errorf("an ID that is taken: %v, want an error, and the name is free", err)
		}
		user := admin(3, "ada")
		user.Role = account.RoleUser
		if err := firstAdmin(t, w.users, user); !errors.Is(err, account.ErrRole) {
			t.Errorf("a user who is no admin: %v, want ErrRole", err)
		}
		want := admin(3, "ada")
		if err := firstAdmin(t, w.users, want); err != nil {
			t.Fatal(err)
		}
		got, err := w.users.ByUsername(t.Context(), "ada")
		if err != nil || got.ID != want.ID || got.Role != want.Role || !got.PasswordHash.Equal(want.PasswordHash) ||
			got.PasswordVersion != 1 || got.Disabled() || !got.CreatedAt.Equal(want.CreatedAt) || !got.UpdatedAt.Equal(want.UpdatedAt) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if err := firstAdmin(t, w.users, admin(4, "eve")); !errors.Is(err, account.ErrHasAdmin) {
			t.Errorf("a second: %v, want ErrHasAdmin", err)
		}
	})
}

// The commit succeeds and its answer is lost: the caller learns that it is the first
// admin, and does not see an error beside an account that it owns.
func TestFirstAdminSurvivesALostAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.Gorm().Statement.ConnPool = forgetful{w.SQL()}
		if err := firstAdmin(t, w.users, admin(1, "ada")); err != nil {
			t.Errorf("%v, want nil: the user is stored", err)
		}
		if err := firstAdmin(t, w.users, admin(2, "eve")); !errors.Is(err, account.ErrHasAdmin) {
			t.Errorf("a second: %v, want ErrHasAdmin", err)
		}
	})
}

// A forgetful pool commits and reports that the connection broke.
type (
	forgetful   struct{ *sql.DB }
	forgetfulTx struct{ *sql.Tx }
)

func (p forgetful) BeginTx(ctx context.Context, o *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := p.DB.BeginTx(ctx, o)
	return &forgetfulTx{tx}, err
}

func (tx *forgetfulTx) Commit() error { return errors.Join(tx.Tx.Commit(), sql.ErrConnDone) }
