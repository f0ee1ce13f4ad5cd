//go:build unix

package commandtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
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

// TestSecretThatCannotBeWrittenIsNamed: what was made is good, and nobody has it. So the command
// says how to take it back.
func TestSecretThatCannotBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testenv.Absent(t, "/dev/full, which Linux has")
	}
	defer full.Close()
	d := e2e.OnSQLite(t)
	e2e.Must(t, d.Vars, e2e.NewPassword()+"\n", "user", "add", "billing", "--role", "service", "--password-stdin")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"`flakepass key revoke ", []string{"key", "add", "billing", "x", "--scope", "verify"}},
		{"`flakepass key revoke ", []string{"key", "add", "billing", "x", "--scope", "verify", "--json"}},
		{"`flakepass user reset billing --withdraw`", []string{"user", "reset", "billing"}},
		{"`flakepass user reset alice --withdraw` takes", []string{"user", "add", "alice", "--invite"}},
	} {
		cmd := exec.CommandContext(t.Context(), e2e.Binary(t), c.args...)
		var errs bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = e2e.Environ(d.Vars), full, &errs
		if err := cmd.Run(); err == nil || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), "fpk_") || strings.Contains(errs.String(), "fpr_") {
			t.Errorf("%q: %v, %s", c.args, err, errs.String())
		}
	}
	keys := e2e.Must(t, d.Vars, "", "key", "list", "billing", "--json").Out
	if n := strings.Count(keys, `"id"`); n < 2 {
		t.Errorf("the list has %s", keys)
	}
}
