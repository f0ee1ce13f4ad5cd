//go:build unix

package sqlstore_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/store/layer"
	"github.com/flakepass/flakepass/migrations"
)

// TestPoisonedRowKeepsNoUseOfAnother from its row, however many are written at once: otherwise one row
// that cannot be written would let all logins go idle.
func TestPoisonedRowKeepsNoUseOfAnother(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.endedBefore(t, longAgo, longAgo)
		logins := w.crowd(t, 900)
		body := "FOR EACH ROW BEGIN IF NEW.id = " + logins[3].String() + " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poisoned'; END IF; END"
		if w.Dialect() == migrations.SQLite {
			body = "FOR EACH ROW WHEN NEW.id = " + logins[3].String() + " BEGIN SELECT RAISE(ABORT, 'poisoned'); END"
		}
		w.exec(t, "CREATE TRIGGER stuck BEFORE UPDATE ON users "+body)
		tier := layer.NewWriteBehind(nil, layer.WriteBehindOptions{To: w.sessions, Policy: policy.Fixed(policy.Default()), Log: slog.New(slog.DiscardHandler)})
		used := start.Add(time.Hour)
		for _, id := range logins {
			if err := tier.Touch(t.Context(), id, used); err != nil {
				t.Fatal(err)
			}
		}
		if err := tier.Flush(t.Context()); err == nil {
			t.Error("no word of the row that could not be written")
		}
		if n := w.number(t, "SELECT COUNT(*) FROM users WHERE token_seen_at = ?", used.UnixMilli()); n != int64(len(logins))-1 {
			t.Errorf("%d of %d uses are in their rows, want all but one", n, len(logins))
		}
		w.exec(t, "DROP TRIGGER stuck")
		if err := tier.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM users WHERE token_seen_at = ?", used.UnixMilli()); n != int64(len(logins)) {
			t.Errorf("%d of %d uses are in their rows when all can be written", n, len(logins))
		}
	})
}
