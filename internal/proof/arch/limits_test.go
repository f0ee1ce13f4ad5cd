package arch_test

import (
	"maps"
	"os"
	"path"
	"slices"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/measure"
)

// What a reader can take in at once.
const (
	mostMethods  = 4   // of an interface: it belongs to one caller
	mostFunction = 60  // lines of a function that is no table
	mostFile     = 250 // lines of a file that are not blank
	mostEntries  = 8   // of internal/
)

// holds checks sizes against a limit.
func holds(t *testing.T, what string, sizes map[string]int, limit int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if size := sizes[name]; size > limit {
			t.Errorf("%s has %d %s; %d is the limit", name, size, what, limit)
		}
	}
}

func measured(t *testing.T) []measure.File {
	t.Helper()
	files, err := measure.Files(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 300 {
		t.Fatalf("%d files: that is not the whole repository", len(files))
	}
	return files
}

func TestInterfacesAreNarrow(t *testing.T) {
	all, err := measure.Interfaces(".", measured(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("%d interfaces: these are not all", len(all))
	}
	sizes := map[string]int{}
	for _, i := range all {
		sizes[i.Name] = max(sizes[i.Name], i.Methods)
	}
	holds(t, "methods", sizes, mostMethods)
}

func TestFunctionsAreShort(t *testing.T) {
	all, err := measure.Functions(measure.Of(measured(t), measure.Product))
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{}
	for _, f := range all {
		if !f.Table {
			sizes[f.Name] = max(sizes[f.Name], f.Lines)
		}
	}
	holds(t, "lines", sizes, mostFunction)
}

func TestFilesAreSmall(t *testing.T) {
	sizes := map[string]int{}
	for _, f := range measure.Of(measured(t), measure.Product) {
		name := path.Base(f.Folder()) + "/" + path.Base(f.Name)
		sizes[name] = max(sizes[name], f.Lines)
	}
	holds(t, "lines that are not blank", sizes, mostFile)
}

// TestPackageNamesAreUnique: two packages with one name need an alias wherever
// both are imported, and a reader does not see which is meant. Programs are
// imported by no package.
func TestPackageNamesAreUnique(t *testing.T) {
	folders := map[string]string{}
	for _, f := range measured(t) {
		folder := f.Folder()
		if isProgram(folder) {
			continue
		}
		name := path.Base(folder)
		if first, ok := folders[name]; !ok {
			folders[name] = folder
		} else if first != folder {
			t.Errorf("%s, in %s, has the name of %s", f.Name, folder, first)
		}
	}
}

func TestInternalIsOnePicture(t *testing.T) {
	entries, err := os.ReadDir("internal")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > mostEntries {
		t.Errorf("internal/ has %d entries; %d is the limit", len(entries), mostEntries)
	}
}
