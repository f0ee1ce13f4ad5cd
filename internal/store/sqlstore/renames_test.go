//go:build unix

package sqlstore_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// TestRenamesOfOthersDoNotHoldUpAPurge: where all users were renamed, as to log in by mail, a purge that reads all that
// the record has of it takes longer than a statement may.
func TestRenamesOfOthersDoNotHoldUpAPurge(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		user := w.user(t, "zebulon")
		for _, action := range []audit.Action{audit.UserRenamed, audit.ImpersonationBegan} {
			w.crowdOfEvents(t, action)
		}
		w.exec(t, "ANALYZE TABLE audit_events")
		w.SQL().SetMaxOpenConns(1) // the server counts by connection
		before := w.entriesRead(t)
		if n, err := w.users.Forget(t.Context(), account.User{ID: user, Username: "zebulon"}, 200); err != nil || n != 0 {
			t.Fatal(n, err)
		}
		if read := w.entriesRead(t) - before; read > 100 {
			t.Errorf("a purge reads %d entries about others", read)
		}
	})
}

// crowdOfEvents adds 2,048 events of that action about as many users.
func (w *world) crowdOfEvents(t *testing.T, action audit.Action) {
	t.Helper()
	first := w.ids.next(0)
	w.run(t, "INSERT INTO audit_events (id, actor_id, actor, via, action, target_kind, target_id, target, old_value, new_value) VALUES (?, 7, 'root', 'api', ?, 'user', 8, 'someone', '', '')", int64(first), string(action))
	for n := 1; n < 2048; n *= 2 {
		w.run(t, "INSERT INTO audit_events (id, actor_id, actor, via, action, target_kind, target_id, target, old_value, new_value) "+
			"SELECT id + ?, actor_id, actor, via, action, target_kind, target_id + ?, target, old_value, new_value FROM audit_events WHERE action = ?", n, n, string(action))
	}
}
