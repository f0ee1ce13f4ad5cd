package config_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

// TestEverySettingIsDocumented holds docs/configuration.md to the table that
// the program reads: go test ./internal/server/config -update writes it.
func TestEverySettingIsDocumented(t *testing.T) {
	const page = "../../../docs/configuration.md"
	var want bytes.Buffer
	want.WriteString("# Settings\n\n" +
		"For operators: every setting of the server. Each is a variable of the environment, or a key of the YAML file that\n" +
		"`--config` names; the environment has priority. All values that cannot be right are reported at once; what is in the files that they name, one after the other.\n" +
		"`flakepass config` prints the values in force.\n\n")
	if err := config.Reference(&want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/configuration.md is not what the settings say; run: go test ./internal/server/config -update")
	}
}
