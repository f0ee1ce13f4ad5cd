package run

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

// TestAStartThatFailsLeavesTheDatabaseAsItWas: what a start can know without its database it
// says before it makes or migrates one, which the previous release would refuse.
func TestAStartThatFailsLeavesTheDatabaseAsItWas(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	used := taken.Addr().String()
	absent := filepath.Join(t.TempDir(), "absent")
	for name, c := range map[string]struct{ set, want string }{
		"certificate": {"FLAKEPASS_TLS_CERT=" + absent + " FLAKEPASS_TLS_KEY=" + absent, "cannot use FLAKEPASS_TLS_CERT"},
		"list":        {"FLAKEPASS_BREACHED_PASSWORDS=" + absent, "FLAKEPASS_BREACHED_PASSWORDS"},
		"port":        {"FLAKEPASS_LISTEN=" + used, "set FLAKEPASS_LISTEN"},
		"ops port":    {"FLAKEPASS_OPS_LISTEN=" + used, "set FLAKEPASS_OPS_LISTEN"},
		"keys":        {"", "second-factor.key is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if name == "keys" {
				if err := os.WriteFile(filepath.Join(dir, "second-factor.key"), []byte("planted"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			environ := []string{"FLAKEPASS_LISTEN=127.0.0.1:0", "FLAKEPASS_OPS_LISTEN=127.0.0.1:0", "FLAKEPASS_HASH_PROCESS=off", "FLAKEPASS_DATA_DIR=" + dir}
			cfg, err := config.Load(config.Options{Environ: append(environ, strings.Fields(c.set)...)})
			if err != nil {
				t.Fatal(err)
			}
			if err := Serve(t.Context(), cfg, io.Discard, io.Discard, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "flakepass.db*")); err != nil || len(left) != 0 {
				t.Errorf("a database was made: %v, %v", left, err)
			}
		})
	}
}
