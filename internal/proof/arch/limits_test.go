package arch_test

import (
	"maps"
	"os"
	"path"
	"slices"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/measure"
)

// What a reader can take in at once. The lists below name what is over a limit
// still, with the size that it must not exceed. They only become shorter: what is
// no longer over its limit has to leave its list.
const (
	mostMethods  = 4   // of an interface: it belongs to one caller
	mostFunction = 60  // lines of a function that is no table
	mostFile     = 250 // lines of a file that are not blank
	mostEntries  = 8   // of internal/
)

var widerInterfaces = map[string]int{
	"httpapi.Recognition": 5,
	"secondfactor.Store":  7,
}

var longerFunctions = map[string]int{
	"run.Serve": 168,
	"run.stack": 64,
}

var largerFiles = map[string]int{
	"httpapi/verifications.go": 253,
	"secondfactor/service.go":  260,
	"session/service.go":       343,
	"ratelimit/gate.go":        391,
}

// holds checks sizes against a limit and the list of what may be over it.
func holds(t *testing.T, what string, sizes map[string]int, limit int, over map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if size, may := sizes[name], max(limit, over[name]); size > may {
			t.Errorf("%s has %d %s; %d is the limit", name, size, what, may)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(over)) {
		if sizes[name] <= limit {
			t.Errorf("%s has %d %s now: take it off the list", name, sizes[name], what)
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
	holds(t, "methods", sizes, mostMethods, widerInterfaces)
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
	holds(t, "lines", sizes, mostFunction, longerFunctions)
}

func TestFilesAreSmall(t *testing.T) {
	sizes := map[string]int{}
	for _, f := range measure.Of(measured(t), measure.Product) {
		name := path.Base(f.Folder()) + "/" + path.Base(f.Name)
		sizes[name] = max(sizes[name], f.Lines)
	}
	holds(t, "lines that are not blank", sizes, mostFile, largerFiles)
}

// TestPackageNamesAreUnique: two packages with one name need an alias wherever
// both are imported, and a reader cannot tell which is meant. Programs are
// imported by nobody.
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
