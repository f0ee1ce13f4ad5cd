package publish

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const ours = "github.com/flakepass/flakepass"

// version is the one that the outer go.mod requires of our other modules.
var version = func() string {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	if err != nil {
		panic(err)
	}
	return string(regexp.MustCompile(`\n\t` + ours + `/api (v\S+)`).FindSubmatch(text)[1])
}()

// public are the modules of ours that others import, by their folders.
var public = []string{"api", "idworker"}

// root is the top of the working tree.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// proxy writes what a module proxy has of a release of this working tree to a
// folder, and returns the environment of its user. What is not ours
// is taken from the module cache of this machine; theirs is a folder of the test.
func proxy(t *testing.T) (env []string) {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range append([]string{"."}, public...) {
		publish(t, dir, folder)
	}
	cache := strings.TrimSpace(output(t, root(t), os.Environ(), "go", "env", "GOMODCACHE"))
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "GOFLAGS" && name != "GOWORK" {
			env = append(env, v)
		}
	}
	return append(env,
		"GOPROXY=file://"+dir+",file://"+filepath.Join(cache, "cache", "download"), "GOSUMDB=off", "GOWORK=off", "CGO_ENABLED=0",
		"GOMODCACHE="+t.TempDir(), "GOBIN="+t.TempDir(), "GOFLAGS=-modcacherw -tags=nomsgpack -trimpath -buildvcs=false",
	)
}

// publish writes the module in a folder of the working tree to a proxy: its
// go.mod, and a zip of what Git would have of it, without the modules below.
func publish(t *testing.T, dir, folder string) {
	t.Helper()
	module := path.Join(ours, folder)
	to := filepath.Join(dir, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(root(t), folder)
	text, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"list": []byte(version + "\n"), version + ".mod": text, version + ".info": info} {
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive(t, filepath.Join(to, version+".zip"), from, module+"@"+version+"/")
}

// archive writes a zip of the files below a folder, each under that prefix.
func archive(t *testing.T, to, from, prefix string) {
	t.Helper()
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := zip.NewWriter(file)
	for _, name := range files(t, from) {
		part, err := w.Create(prefix + name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// files are those of the module in a folder: committed, or new and not ignored.
func files(t *testing.T, folder string) (names []string) {
	t.Helper()
	all := strings.Split(output(t, folder, os.Environ(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00")
	var below []string // modules of their own
	for _, name := range all {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			below = append(below, path.Dir(name)+"/")
		}
	}
	for _, name := range all {
		other := slices.ContainsFunc(below, func(module string) bool { return strings.HasPrefix(name, module) })
		info, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(name)))
		if name == "" || other || err != nil || !info.Mode().IsRegular() {
			continue
		}
		names = append(names, name)
	}
	return names
}

// output runs a command and returns what it printed.
func output(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, said.String()))
	}
	return string(out)
}
