package measure

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Kind says what a file is for.
type Kind int

const (
	// Product is what runs in a deployment or is imported by others.
	Product Kind = iota
	// Proof is code that only tests use: harnesses, conformance suites, tools.
	Proof
	// Test is a file that only go test compiles.
	Test
)

// A File is one Go file of the repository.
type File struct {
	Name  string // below the root, with slashes
	Kind  Kind
	Lines int // that are not blank
	Text  []byte
}

// Folder is the folder of the file, below the root.
func (f File) Folder() string { return path.Dir(f.Name) }

// Files reads every Go file below root, those of nested modules too, sorted by
// name. It leaves out testdata, and folders that the go command leaves out.
func Files(root string) ([]File, error) {
	var files []File
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		hidden := name != "." && (base[0] == '.' || base[0] == '_')
		if entry.IsDir() {
			if hidden || base == "testdata" || base == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if hidden || path.Ext(base) != ".go" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name))) //nolint:gosec // a file of the repository
		files = append(files, File{Name: name, Kind: kindOf(name), Lines: lines(text), Text: text})
		return err
	})
	return files, err
}

// kindOf decides by the path alone, so that there is no list in which an entry can be missing.
// A package whose name ends in "test" is a conformance suite or a fake.
func kindOf(name string) Kind {
	folders := strings.Split(path.Dir(name), "/")
	switch {
	case strings.HasSuffix(name, "_test.go"):
		return Test
	case strings.HasPrefix(name, "internal/proof/"), strings.HasPrefix(name, "internal/tools/"),
		slices.Contains(folders, "peers"), // what idworker is compared with: a module of its own
		strings.HasSuffix(folders[len(folders)-1], "test"):
		return Proof
	}
	return Product
}

func lines(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// Of is the files of one kind.
func Of(files []File, kind Kind) []File {
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool { return f.Kind != kind })
}

// Lines is the sum of the lines of the files.
func Lines(files []File) int {
	sum := 0
	for _, f := range files {
		sum += f.Lines
	}
	return sum
}
