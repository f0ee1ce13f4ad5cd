package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A folder is a package of which mutants change a file.
type folder struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
}

// TestEveryMutantCompiles: a row that does not shows nothing, and the code around a row
// changes without a look at it. "make mutants" finds that too, in hours.
func TestEveryMutantCompiles(t *testing.T) {
	t.Parallel()
	of := map[string][]Mutant{}
	for _, m := range all() {
		if strings.HasSuffix(m.File, ".go") && !strings.HasSuffix(m.File, "_test.go") {
			of["./"+filepath.ToSlash(filepath.Dir(m.File))] = append(of["./"+filepath.ToSlash(filepath.Dir(m.File))], m)
		}
	}
	folders := list(t, slices.Sorted(maps.Keys(of)))
	set := token.NewFileSet()
	exports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		if folders[path].Export == "" {
			return nil, fmt.Errorf("no compiled package %s", path)
		}
		return os.Open(folders[path].Export)
	})
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		below, err := filepath.Rel(abs, f.Dir)
		mutants := of["./"+filepath.ToSlash(below)]
		if err != nil || len(mutants) == 0 {
			continue
		}
		trees := map[string]*ast.File{}
		for _, name := range f.GoFiles {
			if trees[name], err = parser.ParseFile(set, filepath.Join(f.Dir, name), nil, parser.SkipObjectResolution); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range mutants {
			if err := m.compiles(set, exports, f, maps.Clone(trees)); err != nil {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
	}
}

// compiles checks the types of the package with the changed file. What a mutant imports and
// the package does not is not known here, and a file for another system is not looked at.
func (m Mutant) compiles(set *token.FileSet, exports types.Importer, f folder, trees map[string]*ast.File) error {
	name := filepath.Base(m.File)
	if trees[name] == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(f.Dir, name))
	if err != nil {
		return err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return err
	}
	if trees[name], err = parser.ParseFile(set, name, changed, parser.SkipObjectResolution); err != nil {
		return err
	}
	conf := types.Config{Importer: exports, Error: func(wrong error) {
		if err == nil && !strings.Contains(wrong.Error(), "could not import") {
			err = wrong
		}
	}}
	_, _ = conf.Check(f.ImportPath, set, slices.Collect(maps.Values(trees)), nil)
	return err
}

// list asks the go command for packages, and for the compiled form of all that they import.
func list(t *testing.T, patterns []string) map[string]folder {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-tags", "nomsgpack", "-json=Dir,ImportPath,Export,GoFiles"}, patterns...)...)
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	found := map[string]folder{}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var f folder
		if err := in.Decode(&f); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		found[f.ImportPath] = f
	}
}
