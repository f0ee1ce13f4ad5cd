package testenv

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\([a-z]+ \*testing\.[TF]\)`)

// Tests has every test and fuzz target below root, by its name, with the folders in which
// there is one, for documents that say which test shows what.
func Tests(t testing.TB, root string) map[string][]string {
	t.Helper()
	in := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			folder, _ := filepath.Rel(root, filepath.Dir(path)) // it is below root
			in[string(m[1])] = append(in[string(m[1])], filepath.ToSlash(folder))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}
