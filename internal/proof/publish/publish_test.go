package publish

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReleaseCanBeInstalled: go install needs no checkout and no replacement.
func TestReleaseCanBeInstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the whole program")
	}
	env := proxy(t)
	dir := t.TempDir()
	output(t, dir, env, "go", "install", ours+"/cmd/flakepass@"+version)
	bin := strings.TrimSpace(output(t, dir, env, "go", "env", "GOBIN"))
	if got := output(t, dir, env, filepath.Join(bin, "flakepass"), "version", "--short"); "v"+strings.TrimSpace(got) != version {
		t.Errorf("the program says that it is %q", got)
	}
}

// importer is a new module of another owner with that program, which requires
// one module of ours. It returns its folder.
func importer(t *testing.T, env []string, module, program string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	output(t, dir, env, "go", "mod", "init", "example.org/orders")
	output(t, dir, env, "go", "get", ours+"/"+module+"@"+version)
	output(t, dir, env, "go", "mod", "tidy")
	output(t, dir, env, "go", "build", "-o", os.DevNull, ".")
	return dir
}

// graph are the modules in the graph of a module, without itself and Go.
func graph(t *testing.T, dir string, env []string) (all []string) {
	t.Helper()
	for line := range strings.Lines(output(t, dir, env, "go", "mod", "graph")) {
		for _, m := range strings.Fields(line) {
			name, _, _ := strings.Cut(m, "@")
			if name != "example.org/orders" && name != "go" && name != "toolchain" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

var snippet = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

// shown are the programs in Go that the documents show.
func shown(t *testing.T) (programs []string) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root(t), "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range snippet.FindAllStringSubmatch(string(text), -1) {
			programs = append(programs, found[1])
		}
	}
	return programs
}

// TestImporterOfThePublicModuleTakesOnNothing: a program that guards handlers, or calls
// a server, gets one module.
func TestImporterOfThePublicModuleTakesOnNothing(t *testing.T) {
	env, found := proxy(t), map[string]bool{}
	for _, program := range shown(t) {
		for _, name := range []string{"flakepass", "client"} {
			found[name] = found[name] || strings.Contains(program, `"`+ours+"/api/"+name+`"`)
		}
		if !strings.Contains(program, `"`+ours+"/api/") {
			continue
		}
		dir := importer(t, env, "api", program)
		if got, want := graph(t, dir, env), []string{ours + "/api"}; !slices.Equal(got, want) {
			t.Errorf("an importer of api takes on %v, want %v, for\n%s", got, want, program)
		}
	}
	if !found["flakepass"] || !found["client"] {
		t.Errorf("the documents show no program with %v", found)
	}
}

// lending is a program that may take numbers from any lender.
const lending = `package main

import (
	"context"

	"` + ours + `/idworker"
	"` + ours + `/idworker/fileworker"
	"` + ours + `/idworker/idworkertest"
	"` + ours + `/idworker/redisworker"
	"` + ours + `/idworker/sqlworker"
	"` + ours + `/idworker/zkworker"
)

var _ = []idworker.Lender{&fileworker.Lender{}, &redisworker.Lender{}, &sqlworker.Lender{}, &zkworker.Lender{}}
var _ = idworkertest.TestLender

func main() {
	w, err := idworker.Open(context.Background(), &fileworker.Lender{Dir: "."}, idworker.Options{})
	if err == nil {
		_, err = w.Next(context.Background())
	}
	if err != nil {
		panic(err)
	}
}
`

// TestImporterOfIDWorkerTakesOnItsLendersDrivers: the clients of Redis and
// ZooKeeper, and what these require.
func TestImporterOfIDWorkerTakesOnItsLendersDrivers(t *testing.T) {
	env := proxy(t)
	// The server is built with newer drivers than idworker requires.
	output(t, filepath.Join(root(t), "idworker"), append(os.Environ(), "GOWORK=off"), "go", "mod", "download", "all")
	dir := importer(t, env, "idworker", lending)
	want := []string{
		"github.com/bsm/ginkgo/v2", "github.com/bsm/gomega", "github.com/cespare/xxhash/v2", "github.com/dgryski/go-rendezvous",
		ours + "/idworker", "github.com/go-zookeeper/zk", "github.com/redis/go-redis/v9",
	}
	if got := graph(t, dir, env); !slices.Equal(got, want) {
		t.Errorf("an importer of idworker takes on %q, want %q", got, want)
	}
}

// TestPublicModulesHaveTheLicence: a module is passed on without what is above
// its folder.
func TestPublicModulesHaveTheLicence(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(root(t), "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range public {
		if got, err := os.ReadFile(filepath.Join(root(t), folder, "LICENSE")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has not the licence: %v", folder, err)
		}
	}
}
