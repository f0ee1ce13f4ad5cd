//go:build unix

package commandtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestKeyIsRevokedByItsID, by a command here, twice; the list says so.
func TestKeyIsRevokedByItsID(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	e2e.Must(t, d.Vars, e2e.NewPassword()+"\n", "user", "add", "billing", "--role", "service", "--password-stdin")
	var made struct {
		Key, ID string
		Scopes  []string
	}
	if err := json.Unmarshal([]byte(e2e.Must(t, d.Vars, "", "key", "add", "billing", "in production", "--scope", "verify", "--json").Out), &made); err != nil {
		t.Fatal(err)
	}
	if len(made.Scopes) != 1 || !strings.HasPrefix(made.Key, "fpk_") {
		t.Fatalf("made %d scopes", len(made.Scopes))
	}
	for range 2 {
		r := e2e.Must(t, d.Vars, "", "key", "revoke", made.ID, "--reason", "leaked")
		if !strings.Contains(r.Out, "key "+made.ID+" is revoked, within 1s on every instance") {
			t.Errorf("revoke said %s", r.Out)
		}
	}
	if r := e2e.Must(t, d.Vars, "", "key", "list", "billing"); !strings.Contains(r.Out, "revoked 20") || strings.Contains(r.Out, "fpk_") {
		t.Errorf("list said %s", r.Out)
	}
	if r := e2e.Must(t, d.Vars, "", "audit", "--action", "service_key.revoked", "--json"); strings.Count(r.Out, "leaked") != 1 {
		t.Errorf("the record has %s", r.Out)
	}
}
