//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// prepareTwice runs two programs at once that make the template of a server in
// the same empty cache, and fails unless both succeed and leave the template only.
func prepareTwice(t *testing.T, name string, env ...string) {
	t.Helper()
	cache := t.TempDir()
	var both []*exec.Cmd
	for range 2 {
		cmd := withservers(t, "-prepare", name, "-dir", t.TempDir(), "-port", "15001")
		cmd.Env = append(append(cmd.Env, "TMPDIR="+cache, "FLAKEPASS_TEST_CACHE="+cache), env...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		both = append(both, cmd)
	}
	for _, cmd := range both {
		if err := cmd.Wait(); err != nil {
			t.Errorf("-prepare %s: %v", name, err)
		}
	}
	templates, err := filepath.Glob(filepath.Join(cache, "templates", "*"))
	if err != nil || len(templates) != 1 || !strings.HasPrefix(filepath.Base(templates[0]), name+"-") {
		t.Errorf("templates: %v, %v; want the one of %s", templates, err, name)
	}
}

// TestTwoTemplatesCanBeMadeAtOnce: a MariaDB that starts deletes the temporary
// tables that it finds in its temporary folder, so that of another must not be
// the same.
func TestTwoTemplatesCanBeMadeAtOnce(t *testing.T) {
	testenv.Program(t, "mariadbd")
	prepareTwice(t, "mariadb")
}

// TestTemplatesShareNoTemporaryFolder: the programs here only say that they are
// MariaDB. Each waits for the other, and then wants a name in its temporary
// folder for itself.
func TestTemplatesShareNoTemporaryFolder(t *testing.T) {
	programs, meeting := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{
		"mariadbd": `echo "mariadbd Ver 1"`,
		"mariadb-install-db": `: >"$MEETING/$$"
until [ "$(ls "$MEETING" | wc -l)" -ge 2 ]; do sleep 0.01; done
mkdir "$TMPDIR/mine" || exit 1
for a; do case $a in --datadir=*) mkdir "${a#--datadir=}";; esac; done`,
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	prepareTwice(t, "mariadb", "MEETING="+meeting, "PATH="+programs+":"+os.Getenv("PATH"))
}
