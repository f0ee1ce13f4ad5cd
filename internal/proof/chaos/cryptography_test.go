package chaos

import (
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// cryptographic matches the imports that docs/cryptography.md lists: also that of
// random numbers which can be guessed, because no secret may be made of them.
var cryptographic = regexp.MustCompile(`^(crypto(/.+)?|math/rand(/v2)?|golang\.org/x/crypto/.+|github\.com/alexedwards/argon2id|github\.com/pquerna/otp(/.+)?)$`)

// TestCryptographyIsInventoried: the table at the end of docs/cryptography.md has
// every import of cryptography that is not for tests, and no other; and the tests
// that the page names exist.
func TestCryptographyIsInventoried(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "cryptography.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| import | packages |")
	listed := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(strings.Trim(line, "|\n "), " | "); len(cells) == 2 {
			listed[strings.Trim(cells[0], "`")] = cells[1]
		}
	}
	used := imports(t)
	if len(used) < 10 {
		t.Fatalf("%d imports are found: the search is wrong", len(used))
	}
	for name, packages := range used {
		if want := "`" + strings.Join(slices.Sorted(maps.Keys(packages)), "` `") + "`"; listed[name] != want {
			t.Errorf("docs/cryptography.md lacks\n| `%s` | %s |", name, want)
		}
	}
	for name := range listed {
		if used[name] == nil {
			t.Errorf("no package imports %s", name)
		}
	}
	for _, page := range []string{"cryptography.md", "validation.md"} {
		testsExist(t, page)
	}
}

// imports are the packages, by what they import of cryptography.
func imports(t *testing.T) map[string]map[string]bool {
	t.Helper()
	used := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testenv" || entry.Name() == "testdata" || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil || !cryptographic.MatchString(name) {
				continue
			}
			if used[name] == nil {
				used[name] = map[string]bool{}
			}
			used[name][strings.Replace(filepath.ToSlash(folder), ".", "flakepass", 1)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// testsExist fails for tests that a page names and that there are not.
func testsExist(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	exists, n := testenv.Tests(t, root), 0
	for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
		if !testLike.MatchString(m[1]) {
			continue
		}
		if n++; exists[m[1]] == nil {
			t.Errorf("docs/%s: there is no %s", page, m[1])
		}
	}
	if n < 10 {
		t.Errorf("docs/%s names %d tests", page, n)
	}
}
