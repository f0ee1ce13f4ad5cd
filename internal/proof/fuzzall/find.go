package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A target is one fuzz test: the folder of its package below that of the module,
// with slashes, and its name.
type target struct{ folder, name string }

// String is the form in which -only and the table name it.
func (t target) String() string { return t.folder + "." + t.name }

var declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// find lists every fuzz target of the workspace in dir, sorted, without those of
// other modules below it.
func find(dir string) ([]target, error) {
	var found []target
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch base := entry.Name(); {
		case entry.IsDir() && name != dir:
			if testenv.OtherModule(dir, name) || base == "testdata" || base[0] == '.' || base[0] == '_' {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir() || !strings.HasSuffix(base, "_test.go") || base[0] == '.' || base[0] == '_':
			return nil
		}
		text, err := os.ReadFile(name) //nolint:gosec // it is a file of the module that was named
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, filepath.Dir(name))
		for _, m := range declared.FindAllSubmatch(text, -1) {
			found = append(found, target{folder: path.Clean(filepath.ToSlash(below)), name: string(m[1])})
		}
		return err
	})
	slices.SortFunc(found, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return found, err
}
