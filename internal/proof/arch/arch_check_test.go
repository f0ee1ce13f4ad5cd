package arch_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

const (
	module    = "github.com/flakepass/flakepass"
	anything  = "*"
	onlyTests = "tests"
)

// imports is what a package imports, in its code and in its tests.
type imports struct{ code, tests []string }

// readModule finds every package below dir by its folder. It reads the files
// itself: the go command would leave out those of other systems, and a test
// that asks it is cached although the files changed.
func readModule(t *testing.T, dir string) map[string]imports {
	t.Helper()
	module := make(map[string]imports)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(name))
		switch base := entry.Name(); {
		case entry.IsDir() && name != dir:
			if testenv.OtherModule(dir, name) || base == "testdata" || base[0] == '.' || base[0] == '_' {
				return fs.SkipDir
			}
			return nil
		case path.Ext(base) != ".go" || base[0] == '.' || base[0] == '_':
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		found := module[folder]
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if strings.HasSuffix(name, "_test.go") {
				found.tests = append(found.tests, imported)
			} else {
				found.code = append(found.code, imported)
			}
		}
		module[folder] = found
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// violations is every way in which the packages break the tables, and the
// tables speak of what is not there; sorted.
func violations(packages map[string]imports, arrows []arrow, support []string, homes []home) []string {
	found := make(map[string]bool)
	report := func(format string, args ...any) { found[fmt.Sprintf(format, args...)] = true }
	exists := func(folder string) bool { _, ok := packages[folder]; return ok }
	isSupport := func(folder string) bool { return slices.Contains(support, folder) }

	rules := make(map[string]arrow)
	for _, a := range arrows {
		rules[a.from] = a
		for _, folder := range append(strings.Fields(a.to), a.from) {
			if folder != anything && !exists(folder) {
				report("the rule for %s names %s, which does not exist", a.from, folder)
			}
		}
	}
	for _, folder := range support {
		if !exists(folder) {
			report("support names %s, which does not exist", folder)
		}
	}
	used := make(map[string]bool) // "dep in folder", and "dep"
	for folder, p := range packages {
		rule, ruled := rules[folder]
		if ruled == isSupport(folder) {
			report("%s must have one rule: an arrow, or a place in support", folder)
		}
		for _, imported := range p.code {
			if target, ours := inModule(imported); ours {
				switch {
				case isProgram(target):
					report("%s imports %s: no package may import the command", folder, target)
				case isSupport(folder) || !ruled:
				case isSupport(target):
					report("%s imports %s: it exists for tests", folder, target)
				case rule.to != anything && !slices.Contains(strings.Fields(rule.to), target):
					report("%s imports %s: %s", folder, target, rule.why)
				}
			} else if !isStandard(imported) {
				h, ok := homeOf(homes, imported)
				used[h.dep], used[h.dep+" in "+folder] = true, true
				switch {
				case !ok:
					report("%s imports %s, which has no home", folder, imported)
				case isSupport(folder) || isProgram(folder) || slices.Contains(strings.Fields(h.homes), folder):
				default:
					report("%s imports %s: %s", folder, imported, h.why)
				}
			}
		}
		for _, imported := range p.tests {
			if target, ours := inModule(imported); ours {
				if isProgram(target) {
					report("a test of %s imports %s: no package may import the command", folder, target)
				}
			} else if !isStandard(imported) {
				h, ok := homeOf(homes, imported)
				used[h.dep] = true
				if !ok {
					report("a test of %s imports %s, which has no home", folder, imported)
				}
			}
		}
	}
	for _, h := range homes {
		if !used[h.dep] {
			report("%s has a home, but no package imports it", h.dep)
		}
		for _, folder := range strings.Fields(h.homes) {
			if folder != onlyTests && !used[h.dep+" in "+folder] {
				report("%s has a home in %s, which does not import it", h.dep, folder)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func inModule(imported string) (folder string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func isProgram(folder string) bool { return strings.HasPrefix(folder, "cmd/") }

// isStandard: only the standard library has paths whose first element has no
// dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func homeOf(homes []home, imported string) (home, bool) {
	for _, h := range homes {
		if imported == h.dep || strings.HasPrefix(imported, h.dep+"/") {
			return h, true
		}
	}
	return home{}, false
}
