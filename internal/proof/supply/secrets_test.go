package supply

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestMadeSecretsAreRandomAndShut: docs/deploy/make-secrets.sh makes other
// passwords each time, into a folder that no other user may open, and overwrites none.
func TestMadeSecretsAreRandomAndShut(t *testing.T) {
	script := filepath.Join(root(t), "docs", "deploy", "make-secrets.sh")
	password := regexp.MustCompile(`[0-9a-f]{40}`)
	seen := map[string]string{}
	for range 2 {
		dir := t.TempDir()
		mustRun(t, dir, environment(), "sh", script)
		info, err := os.Stat(filepath.Join(dir, "secrets"))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("the folder: %v, %v", info, err)
		}
		mine := map[string]string{}
		for _, name := range []string{"mysql_password", "database_url", "redis_conf", "redis_url"} {
			mine[name] = password.FindString(read(t, filepath.Join(dir, "secrets", name)))
			if before, ok := seen[mine[name]]; ok || mine[name] == "" {
				t.Errorf("%s has %q, which stood in %q of another run", name, mine[name], before)
			}
		}
		if mine["mysql_password"] != mine["database_url"] || mine["redis_conf"] != mine["redis_url"] || mine["redis_url"] == mine["database_url"] {
			t.Errorf("the passwords do not fit together: %v", mine)
		}
		key := read(t, filepath.Join(dir, "secrets", "second_factor_key"))
		if _, ok := seen[key]; ok || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(key) {
			t.Errorf("the key of second factors is %q", key)
		}
		mine["second_factor_key"] = key
		for name, p := range mine {
			seen[p] = name
		}
		if said, code := run(t, dir, environment(), "sh", script); code == 0 {
			t.Errorf("a second run overwrites them: %s", said)
		}
	}
}

// TestSecretsAreMadeOfAllThatWasAsked: a tool that fails in a pipe must not make a short password.
func TestSecretsAreMadeOfAllThatWasAsked(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "od"), []byte("#!/bin/sh\necho 01 02\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(environment(), "PATH="+bin+":"+os.Getenv("PATH"))
	said, code := run(t, dir, env, "sh", filepath.Join(root(t), "docs", "deploy", "make-secrets.sh"))
	if _, err := os.Stat(filepath.Join(dir, "secrets")); code == 0 || err == nil || !strings.Contains(said, "Nothing was made") {
		t.Errorf("exit code %d, %v: %s", code, err, said)
	}
}

// TestComposeFileHasNoSecret: every password of docker-compose.yml comes from a
// file that is made by make-secrets.sh, and that Git and the builder do not take.
func TestComposeFileHasNoSecret(t *testing.T) {
	var c composition
	text := read(t, filepath.Join(root(t), "docker-compose.yml"))
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	secret := regexp.MustCompile(`(?i)password|secret|token|database|redis|_key`)
	for name, s := range c.Services {
		for k, v := range s.Environment {
			if secret.MatchString(k) && !strings.HasPrefix(v, "/run/secrets/") && !slices.Contains([]string{"flakepass", "yes"}, v) {
				t.Errorf("%s has %s in its environment: give it a file below /run/secrets", name, k)
			}
		}
	}
	if inURL := regexp.MustCompile(`://[^/\s"]*:[^/\s"]*@`).FindString(text); inURL != "" {
		t.Errorf("a password stands in %q", inURL)
	}
	for name, s := range c.Secrets {
		if s.File != "./secrets/"+name {
			t.Errorf("the secret %s is kept in %q", name, s.File)
		}
	}
}

// TestSecretsOfACheckoutStayInIt: Git commits neither the folder of secrets nor
// that of data, and the builder of the image is sent what the build reads and
// nothing else.
func TestSecretsOfACheckoutStayInIt(t *testing.T) {
	ignored := lines(read(t, filepath.Join(root(t), ".gitignore")))
	for _, folder := range []string{"/secrets/", "/flakepass-data/"} {
		if !slices.Contains(ignored, folder) {
			t.Errorf(".gitignore lacks %s", folder)
		}
	}
	if i := slices.IndexFunc(ignored, func(l string) bool { return strings.HasPrefix(l, "!") }); i >= 0 {
		t.Errorf(".gitignore takes %s back", ignored[i])
	}
	sent := []string{}
	builder := lines(read(t, filepath.Join(root(t), "cmd", "flakepass", "Dockerfile.dockerignore")))
	if len(builder) == 0 || builder[0] != "*" {
		t.Fatalf("the builder is sent what is not named: %v", builder)
	}
	for _, l := range builder {
		if back, ok := strings.CutPrefix(l, "!"); ok {
			sent = append(sent, back)
		}
	}
	if want := []string{"go.work", "go.work.sum", "go.mod", "go.sum", "api", "cmd", "idworker", "internal", "migrations"}; !slices.Equal(sent, want) {
		t.Errorf("the builder is sent %v, want %v", sent, want)
	}
}

// TestNoKeyIsInTheSources: no file of the checkout is, or has, a private key.
func TestNoKeyIsInTheSources(t *testing.T) {
	key := regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{32}`)
	looked := 0
	err := filepath.WalkDir(root(t), func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || entry.Name() == "secrets" || entry.Name() == "flakepass-data"):
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		looked++
		if key.MatchString(read(t, path)) {
			t.Errorf("%s has a private key", path)
		}
		return nil
	})
	if err != nil || looked < 500 {
		t.Errorf("%d files were looked at, %v", looked, err)
	}
}

// lines are those of a list of patterns that mean something.
func lines(text string) (all []string) {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			all = append(all, l)
		}
	}
	return all
}
