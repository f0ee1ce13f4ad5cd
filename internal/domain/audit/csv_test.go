package audit_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// TestCSVLosesNothing: whatever a text holds, a program that reads the file has it
// again, each cell in the column of its name.
func TestCSVLosesNothing(t *testing.T) {
	for _, text := range []string{"", "ada", "a\tb", "two\nlines", `she said "no", twice`, "family \U0001f468\u200d\U0001f469", "=1+1", "\ta", "a\x1b[2Jb", `\.`} {
		at := time.Date(2026, 2, 1, 9, 30, 0, int(120*time.Millisecond), time.UTC)
		e := wire.Event{
			ID: wire.ID(idworker.Default().Smallest(at)), At: wire.At(at), Action: "user.disabled", Actor: wire.Party{ID: 7, Name: "root"}, Via: audit.ViaCLI, RequestID: "r",
			Address: "192.0.2.9", Target: wire.Target{Kind: "user", Party: wire.Party{ID: 8, Name: "bob"}}, Reason: text, Old: json.RawMessage(`{"a":1}`),
		}
		var out bytes.Buffer
		w := audit.NewCSV(&out)
		if err := w.Head(); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%q: %d rows, %v", text, len(rows), err)
		}
		want := map[string]string{
			"id": e.ID.String(), "at": "2026-02-01T09:30:00.120Z", "actor_id": "7", "actor": "root", "via": "cli", "action": "user.disabled", "target_kind": "user",
			"target_id": "8", "target": "bob", "reason": audit.SpreadsheetText(text), "old": `{"a":1}`, "new": "", "request_id": "r", "address": "192.0.2.9",
		}
		for i, name := range rows[0] {
			if rows[1][i] != want[name] {
				t.Errorf("%s is %q, want %q", name, rows[1][i], want[name])
			}
			delete(want, name)
		}
		if len(want) != 0 || !slices.Contains(rows[0], "reason") {
			t.Errorf("no column has %v", want)
		}
	}
}
