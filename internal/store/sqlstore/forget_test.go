//go:build unix

package sqlstore_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestPurgeOfASecondInstanceKeepsTheNextOwner: two instances have listed the same deleted user.
// One has purged, the name is free and has a new owner, and then it is the turn of the other, which
// pauses after each user as long as that took. deletion.md: "several instances at once do no harm".
func TestPurgeOfASecondInstanceKeepsTheNextOwner(t *testing.T) {
	onSQLite(t, func(t *testing.T, w *world) {
		const name = "zebulon"
		w.admin(t, "root")
		user := w.user(t, name)
		_, err := w.delete(t.Context(), user, name)
		must(t, err)
		w.run(t, "UPDATE users SET deleted_at = 1 WHERE id = ?", int64(user))
		listed, err := w.users.DeletedBefore(t.Context(), time.Now(), 100) // by the second instance
		if err != nil || len(listed) != 1 {
			t.Fatal(listed, err)
		}
		w.deletions(time.Hour).AfterSweep(t.Context()) // of the first
		next := w.user(t, name)
		began := audit.Event{ID: w.ids.next(0), By: audit.Actor{ID: next, Name: name, Via: audit.ViaAPI}, Need: audit.NeedsNothing, Action: audit.LoginBegan,
			Target: audit.AboutLogin(w.ids.next(0), name), New: []byte(`{"device_class":"phone","device_name":"mine"}`)}
		must(t, (&sqlstore.Audit{DB: w.DB}).AppendAll(t.Context(), []audit.Event{began}))
		_, err = w.users.Forget(t.Context(), listed[0], 200)
		must(t, err)
		got, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Actor: next, Limit: 9})
		if err != nil || len(got) != 1 || got[0].Target.Name != name || string(got[0].New) != string(began.New) {
			t.Errorf("the login of the next owner is on record as %+v, %s, %v", got[0].Target, got[0].New, err)
		}
	})
}
