package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/measure"
)

// TestEveryMutantCompiles: a row that does not shows nothing, and the code around a row
// changes without a look at it. "make mutants" finds that too, in hours.
func TestEveryMutantCompiles(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	imports, err := measure.Importer(root, set)
	if err != nil {
		t.Fatal(err)
	}
	goes := build.Default
	goes.BuildTags = []string{"nomsgpack"}
	folders := map[string]map[string]*ast.File{}
	for _, m := range all() {
		dir := filepath.Join(root, filepath.Dir(m.File))
		if folders[dir] == nil {
			p, err := goes.ImportDir(dir, 0)
			if err != nil {
				continue // a folder without Go
			}
			folders[dir] = map[string]*ast.File{}
			for _, name := range p.GoFiles {
				if folders[dir][name], err = parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := m.compiles(set, imports, maps.Clone(folders[dir])); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// compiles checks the types of the package with the changed file. What a mutant imports and
// no package of the module does is not known here, and a file for another system is not
// looked at.
func (m Mutant) compiles(set *token.FileSet, imports types.Importer, files map[string]*ast.File) error {
	name := filepath.Base(m.File)
	if files[name] == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return err
	}
	if files[name], err = parser.ParseFile(set, name, changed, parser.SkipObjectResolution); err != nil {
		return err
	}
	conf := types.Config{Importer: imports, Error: func(wrong error) {
		if err == nil && !strings.Contains(wrong.Error(), "could not import") {
			err = wrong
		}
	}}
	_, _ = conf.Check(filepath.Dir(m.File), set, slices.Collect(maps.Values(files)), nil)
	return err
}
