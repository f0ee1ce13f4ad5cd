//go:build unix

package sqlstore_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// TestSecretsAreLookedForAPageAtATime: where few of many users have a factor, a statement that looks on until it
// finds one, or the end, takes longer than a connection waits for an answer, and no key can be retired.
func TestSecretsAreLookedForAPageAtATime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx, s := t.Context(), w.factors()
		users := w.crowd(t, 3*sqlstore.UsersPage) // who have the IDs of their logins
		last := users[len(users)-1]
		w.exec(t, "UPDATE users SET second_factor_secret = ? WHERE id = ?", under(0xa0, 1), int64(last))
		w.user(t, "nobody")
		w.SQL().SetMaxOpenConns(1) // the server counts by connection
		most, read := int64(0), w.entriesRead(t)
		look := func(*gorm.DB) {
			now := w.entriesRead(t)
			most, read = max(most, now-read), now
		}
		must(t, w.Gorm().Callback().Row().Before("gorm:row").Register("test:read", look))
		if page, err := s.Secrets(ctx, 0, 50); err != nil || len(page) != 1 || page[0].User != last {
			t.Errorf("secrets: %v, %v", page, err)
		}
		if page, err := s.Secrets(ctx, last, 50); err != nil || len(page) != 0 {
			t.Errorf("behind the last: %v, %v", page, err)
		}
		if uses, err := s.Uses(ctx); err != nil || len(uses) != 1 || uses[[5]byte(under(0xa0, 0))] != 1 {
			t.Errorf("Uses = %v, %v", uses, err)
		}
		if look(nil); most > sqlstore.UsersPage+1 || most == 0 && w.Dialect() == migrations.MySQL {
			t.Errorf("a statement reads %d rows, want %d at most", most, sqlstore.UsersPage+1)
		}
	})
}
