//go:build unix

package interop_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// python is Debian's, which has the libraries that Debian packages.
func python(t *testing.T, script string) string {
	t.Helper()
	program := testenv.Program(t, "/usr/bin/python3")
	for _, library := range []string{"django", "passlib", "argon2", "bcrypt"} {
		if exec.CommandContext(t.Context(), program, "-c", "import "+library).Run() != nil {
			testenv.Absent(t, "python3-"+library)
		}
	}
	return output(t, "", program, "-c", script)
}

func output(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		failed, _ := err.(*exec.ExitError) //nolint:errorlint // of Output
		t.Fatalf("%s: %v\n%s", program, err, failed.Stderr)
	}
	return string(out)
}

const short = "tïny" // shorter than the rule of today

const djangoHashes = `
from django.conf import settings
names = "PBKDF2 PBKDF2SHA1 Argon2 BCryptSHA256 BCrypt MD5 SHA1 Scrypt".split()
from django.contrib.auth import hashers
settings.configure(PASSWORD_HASHERS=["django.contrib.auth.hashers.%sPasswordHasher" % n for n in names if hasattr(hashers, n + "PasswordHasher")])
for h in hashers.get_hashers():
    if hasattr(h, "rounds"): h.rounds = 4
    print(hashers.make_password("tïny", hasher=h))
`

const passlibHashes = `
from passlib.hash import pbkdf2_sha1, pbkdf2_sha256, pbkdf2_sha512, scrypt, ldap_md5, ldap_sha1, ldap_salted_md5, ldap_salted_sha1, ldap_salted_sha256
for h in (pbkdf2_sha1, pbkdf2_sha256, pbkdf2_sha512, scrypt, ldap_md5, ldap_sha1, ldap_salted_md5, ldap_salted_sha1, ldap_salted_sha256):
    print(h.hash("tïny"))
import argon2, bcrypt
for t in (argon2.Type.I, argon2.Type.ID):
    print(argon2.PasswordHasher(type=t).hash("tïny"))
for prefix in (b"2a", b"2b"):
    print(bcrypt.hashpw("tïny".encode(), bcrypt.gensalt(4, prefix)).decode())
# ASP.NET Core Identity, version 3, as its source describes it.
import base64, hashlib, os, struct
for prf, (name, rounds) in enumerate((("sha1", 1000), ("sha256", 10000), ("sha512", 100000))):
    salt = os.urandom(16)
    blob = struct.pack(">BIII", 1, prf, rounds, len(salt)) + salt + hashlib.pbkdf2_hmac(name, "tïny".encode(), salt, rounds, 32)
    print(base64.b64encode(blob).decode())
`

const phpHashes = `foreach ([PASSWORD_BCRYPT, PASSWORD_ARGON2I, PASSWORD_ARGON2ID] as $a) echo password_hash("tïny", $a), "\n";
foreach (["md5", "sha1", "sha256"] as $a) echo $a, '$salt$', hash($a, "salt" . "tïny"), "\n";
foreach (["md5" => "{SMD5}", "sha1" => "{SSHA}", "sha256" => "{SSHA256}"] as $a => $p) echo $p, base64_encode(hash($a, "tïny" . "salt", true) . "salt"), "\n";`

const nodeHashes = `import bcrypt from "bcryptjs";
import { scryptSync, randomBytes } from "node:crypto";
console.log(bcrypt.hashSync("tïny", 4));
const salt = randomBytes(16), raw = (b) => b.toString("base64").replace(/=+$/, "");
console.log("$scrypt$ln=14,r=8,p=1$" + raw(salt) + "$" + raw(scryptSync("tïny", salt, 32, { N: 16384, r: 8, p: 1 })));`

// TestHashesOfRealTools: what programs of other systems hash now opens an account here, and
// nothing else does.
func TestHashesOfRealTools(t *testing.T) {
	t.Parallel()
	for tool, hashes := range map[string]func(t *testing.T) string{
		"Django":  func(t *testing.T) string { t.Helper(); return python(t, djangoHashes) },
		"passlib": func(t *testing.T) string { t.Helper(); return python(t, passlibHashes) },
		"PHP": func(t *testing.T) string {
			t.Helper()
			return output(t, "", testenv.Program(t, "php"), "-r", phpHashes)
		},
		"Node.js": func(t *testing.T) string {
			t.Helper()
			dir, node := besideModules(t)
			write(t, filepath.Join(dir, "hashes.mjs"), nodeHashes)
			return output(t, dir, node, "hashes.mjs")
		},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			// One of its own: nothing waits in its queue, where a hash is given up after some seconds.
			h, err := account.NewHasher(account.Here{}, account.DefaultParams(), 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Fields(hashes(t))
			if len(lines) < 2 {
				t.Fatalf("%q", lines)
			}
			for _, line := range lines {
				read, err := account.ReadImportedHash(line, nil)
				if err != nil {
					t.Errorf("%s: %v", line, err)
					continue
				}
				kept, err := h.KeepAll(t.Context(), account.Asker{Known: true}, []account.ImportedHash{read})
				if err != nil {
					t.Fatal(err)
				}
				for password, want := range map[string]bool{short: true, "tiny": false, "tïny ": false, "": false} {
					if ok, rehash, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword(password), kept[0]); ok != want || err != nil || ok && !rehash && !kept[0].Ours() {
						t.Errorf("%s: %q opens it: %v, %v", line, password, ok, err)
					}
				}
			}
		})
	}
}

// besideModules is a folder in which programs of Node.js find the packages of this folder.
func besideModules(t *testing.T) (dir, node string) {
	t.Helper()
	modules, node := testenv.NodeModules(t, ".")
	dir = t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir, node
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// example is the first block of docs/moving.md in that language.
func example(t *testing.T, language string) string { t.Helper(); return exampleBelow(t, "", language) }

// exampleBelow is the first one below that heading.
func exampleBelow(t *testing.T, heading, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/moving.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, _ := strings.Cut(string(page), heading)
	_, block, found := strings.Cut(below, "```"+language+"\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ended {
		t.Fatalf("docs/moving.md has no block in %s", language)
	}
	return block
}

// djangoUsers is what manage.py does before the example of the page.
const djangoUsers = `
import django
from django.conf import settings
settings.configure(INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"], USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
User.objects.create_user("django.ada", password="violet tram sings at noon")
User.objects.create_user("django.bob", password="tïny")
User.objects.create_user("django.gone", password="violet tram sings at noon", is_active=False)
User.objects.create_superuser("django.root", password="violet tram sings at noon")
User.objects.create_user("django.sso")
`

const nodeUsers = `import bcrypt from "bcryptjs";
export async function* users() {
  for (const [id, email, password] of [[1001, "node.ada@example.org", "violet tram sings at noon"], [1002, "node.bob@example.org", "tïny"]]) {
    yield { id, email, password: await bcrypt.hash(password, 10), createdAt: new Date(1600000000000 + id) };
  }
}`

// TestExamplesOfMovingUsers runs the examples of docs/moving.md, imports what they print into
// a running deployment, and logs the users in, twice each.
func TestExamplesOfMovingUsers(t *testing.T) {
	t.Parallel()
	dir, node := besideModules(t)
	write(t, filepath.Join(dir, "django.ndjson"), python(t, djangoUsers+example(t, "python")))
	write(t, filepath.Join(dir, "users.mjs"), nodeUsers)
	write(t, filepath.Join(dir, "export-users.mjs"), example(t, "js"))
	write(t, filepath.Join(dir, "node.ndjson"), output(t, dir, node, "export-users.mjs"))
	s := start(t)
	for file, want := range map[string]string{
		"django.ndjson": "5 lines: 5 users added, 0 here already, 0 in conflict, 0 bad\n", "node.ndjson": "2 lines: 2 users added, 0 here already, 0 in conflict, 0 bad\n",
	} {
		if got := s.run(t, "user", "import", filepath.Join(dir, file)); got != want {
			t.Errorf("%s: %s", file, got)
		}
	}
	for range 2 {
		for name, password := range map[string]string{
			"django.ada": password, "django.bob": short, "django.root": password, "node.ada@example.org": password, "node.bob@example.org": short,
		} {
			if _, err := loginWith(t.Context(), s.base, name, password); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"django.gone", "django.sso"} {
		if _, err := login(t.Context(), s.base, name); err == nil {
			t.Errorf("%s has logged in", name)
		}
	}
	kept := s.run(t, "user", "export", "--with-hashes", "--yes")
	for line := range strings.Lines(kept) {
		if strings.Contains(line, "password_hash") != strings.Contains(line, "$argon2id$v=19$m=19456,t=2,p=1$") && !strings.Contains(line, "django.gone") {
			t.Errorf("after the logins: %s", line)
		}
	}
	for file, want := range map[string]string{
		"django.ndjson": "5 lines: 0 users added, 5 here already, 0 in conflict, 0 bad\n", "node.ndjson": "2 lines: 0 users added, 2 here already, 0 in conflict, 0 bad\n",
	} {
		if got := s.run(t, "user", "import", filepath.Join(dir, file)); got != want {
			t.Errorf("%s again: %s", file, got)
		}
	}
}

// run is a command beside the server.
func (s *server) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), s.program, args...)
	cmd.Env = s.vars
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}
