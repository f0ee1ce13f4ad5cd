//go:build unix

package sqlstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// No statement that a request or the sweep sends walks over rows that it does
// not want: with many users that would be slow, and would lock them.
func TestNoStatementScansTheUsers(t *testing.T) {
	onEach(t, goByIndexes)
}

// TestNoStatementScansTheSlots is the same where there are further slots.
func TestNoStatementScansTheSlots(t *testing.T) {
	onSlots(t, goByIndexes)
}

func goByIndexes(t *testing.T, w *world) {
	t.Helper()
	logins := w.crowd(t, 9_000)
	w.exec(t, "INSERT INTO user_names (name, user_id, kind) SELECT username, id, 'mail' FROM users")
	w.exec(t, map[migrations.Dialect]string{migrations.SQLite: "ANALYZE", migrations.MySQL: "ANALYZE TABLE user_names"}[w.Dialect()])
	further := w.number(t, "SELECT slots FROM settings") > 0
	if further {
		w.exec(t, "INSERT INTO user_slots (id, user_id, slot, token_id, token_hash, token_seen_at) "+
			"SELECT id + 1, id, 1, token_id + 1, token_hash, token_seen_at FROM users WHERE token_id IS NOT NULL")
		w.exec(t, "INSERT INTO user_slots (id, user_id, slot) SELECT id + 2, id, 2 FROM users") // without a login
		w.exec(t, map[migrations.Dialect]string{migrations.SQLite: "ANALYZE", migrations.MySQL: "ANALYZE TABLE user_slots"}[w.Dialect()])
	}
	w.endedBefore(t, longAgo, longAgo)
	spy := w.spy(t)
	user, next := logins[0], logins[1:]
	for _, c := range []struct {
		name string
		by   string // the index that its first UPDATE goes by, or its first SELECT
		do   func() error
	}{
		{"Get the living", "users_token_id", func() error { return w.CheckUnprepared(t.Context(), user) }},
		{"Get the ended", "users_ended_token_id", func() error { return w.CheckUnprepared(t.Context(), user-1<<22) }},
		{"Begin again", "PRIMARY", func() error { _, err := w.login(t.Context(), w.opening(user)); return err }},
		{"Begin", "PRIMARY", func() error { _, err := w.login(t.Context(), w.opening(user-1<<22)); return err }},
		{"End", "PRIMARY", func() error {
			_, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: user, Reason: session.Revoked}, 0)
			return err
		}},
		{"ChangePassword", "PRIMARY", func() error { _, err := w.newPassword(t.Context(), user, 1, "$"); return err }},
		{"Disable", "PRIMARY", func() error { _, err := w.users.Disable(t.Context(), next[0], start); return err }},
		{"Enable", "PRIMARY", func() error { return w.users.Enable(t.Context(), next[0]) }},
		{"Rehash", "PRIMARY", func() error { return w.users.Rehash(t.Context(), user, 1, account.NewPHC("$")) }},
		{"ByID", "PRIMARY", func() error { _, err := w.users.ByID(t.Context(), user); return err }},
		{"ByUsername", "users_username", func() error { _, err := w.users.ByUsername(t.Context(), next[0].String()); return err }},
		{"ByName", "users_username", func() error { _, err := w.users.ByName(t.Context(), next[0].String()); return err }},
		{"News", "users_token_floor_at", func() error { _, err := w.sessions.News(t.Context(), time.Now(), time.Minute); return err }},
		{"Newest logins", "users_token_id", func() error {
			_, err := (sqlstore.Logins{Sessions: w.sessions}).Newest(t.Context(), 0, next[9], 50)
			return err
		}},
		{"Touch", "PRIMARY", func() error { return w.sessions.Touch(t.Context(), next[1], start.Add(time.Hour)) }},
		{"Touch many", "PRIMARY", func() error {
			seen := map[idworker.ID]time.Time{}
			for _, id := range next[:200] {
				seen[id] = start.Add(time.Hour)
			}
			_, err := w.sessions.TouchAll(t.Context(), seen, time.Minute)
			return err
		}},
		{"EndAll", "PRIMARY", func() error { _, err := w.settings().EndAll(t.Context(), time.UnixMilli(0)); return err }},
		{"List", "PRIMARY", func() error { _, err := w.users.List(t.Context(), user, 50); return err }},
		{"Newest users", "PRIMARY", func() error { _, err := w.users.Newest(t.Context(), user, 50); return err }},
		{"Users by name", "users_username", func() error { _, err := w.users.Named(t.Context(), "15", "", 50); return err }},
		{"Users by name, on", "users_username", func() error { _, err := w.users.Named(t.Context(), "15", next[0].String(), 50); return err }},
		{"WithLogins", "PRIMARY", func() error { _, _, err := w.users.WithLogins(t.Context(), user); return err }},
		{"Change", "PRIMARY", func() error {
			_, _, _, err := w.users.Change(t.Context(), next[2], w.become(account.RoleAdmin))
			return err
		}},
		{"Change of an admin", "PRIMARY", func() error {
			_, _, _, err := w.users.Change(t.Context(), next[3], w.become(account.RoleAdmin))
			if err == nil {
				_, _, _, err = w.users.Change(t.Context(), next[3], w.become(account.RoleUser))
			}
			return err
		}},
		{"Revoke", "PRIMARY", func() error {
			_, err := w.sessions.End(t.Context(), session.Ending{ID: next[4], Reason: session.Revoked, Record: w.byShell()})
			return err
		}},
		{"CountDisabled", "users_disabled_at", func() error { _, err := w.settings().CountDisabled(t.Context()); return err }},
		{"CountUsers", "users_role", func() error { _, err := w.settings().CountUsers(t.Context(), account.RoleUser); return err }},
		{"Sweep a few", "PRIMARY", func() error {
			_, err := w.sweep(t.Context(), start.Add(99*time.Millisecond), start, 500)
			return err
		}},
		{"Sweep many", "PRIMARY", func() error {
			_, err := w.sweep(t.Context(), start.Add(time.Hour), start, 500)
			return err
		}},
		{"Sweep the idle", "PRIMARY", func() error {
			_, err := w.sweep(t.Context(), time.UnixMilli(0), start.Add(time.Hour), 500)
			return err
		}},
	} {
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		sent := spy.take()
		if len(sent) == 0 {
			t.Errorf("%s: nothing was sent", c.name)
		}
		by := ""
		for _, s := range sent {
			indexes := strings.Join(w.searches(t, s), " ")
			if by == "" || strings.HasPrefix(s.text, "UPDATE") || ((strings.Contains(c.name, "ended") || c.name == "News" && strings.Contains(s.text, "token_floor_at >=") || c.name == "Newest logins") && strings.HasPrefix(s.text, "SELECT") && !strings.Contains(s.text, "s.reduced_to FROM")) {
				by = indexes
			}
		}
		there := strings.NewReplacer("users_", "user_slots_", "PRIMARY", "user_slots_place").Replace(c.by)
		if !strings.Contains(by, c.by) && (!further || !strings.Contains(by, there)) {
			t.Errorf("%s: goes by %q, want %s", c.name, by, c.by)
		}
	}
}
