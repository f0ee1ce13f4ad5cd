package measure

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// A Module is a module of the repository that has product code.
type Module struct{ Folder string }

// Modules lists the modules below root: the folders that have a go.mod, without
// those that only tools and comparisons need.
func Modules(root string) ([]Module, error) {
	var all []Module
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (entry.Name()[0] == '.' || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.Name() == "go.mod" && kindOf(name) == Product:
			all = append(all, Module{Folder: path.Dir(name)})
		}
		return nil
	})
	return all, err
}

// TakesOn counts the modules besides its own that come into the module graph of
// whoever imports a package in folder.
func TakesOn(root, folder string) (int, error) {
	out, err := goCommand(filepath.Join(root, folder), "list", "-m", "all")
	return len(strings.Fields(strings.ReplaceAll(out, " ", "="))) - 1, err
}

func goCommand(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...) //nolint:gosec,noctx // the arguments are written here; it ends by itself
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("measure: go %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}
