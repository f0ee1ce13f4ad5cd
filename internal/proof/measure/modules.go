package measure

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
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

// TakesOn counts the modules of others that come into the module graph of a program
// that requires the module which has the package in folder. It makes such a program
// in the empty folder dir.
func TakesOn(root, folder, dir string) (int, error) {
	modules, err := Modules(root)
	if err != nil {
		return 0, err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return 0, err
	}
	file := "module importer\n\ngo 1.26\n\n"
	required := ""
	for _, m := range modules {
		name, err := goCommand("GOWORK=off", filepath.Join(root, m.Folder), "list", "-m")
		if err != nil {
			return 0, err
		}
		name = strings.TrimSpace(name)
		file += fmt.Sprintf("replace %s => %s\n", name, filepath.Join(root, m.Folder))
		if folder == m.Folder || m.Folder == "." && required == "" || strings.HasPrefix(folder, m.Folder+"/") {
			required = name
		}
	}
	file += fmt.Sprintf("require %s v0.0.0\n", required)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(file), 0o600); err != nil {
		return 0, err
	}
	out, err := goCommand("GOWORK=off", dir, "list", "-mod=mod", "-m", "-f", "{{.Path}}", "all")
	others := slices.DeleteFunc(strings.Fields(out), func(path string) bool {
		return path == "importer" || strings.HasPrefix(path+"/", ourModule)
	})
	return len(others), err
}

// workspace is the usual one: go.work is looked for.
const workspace = "GOWORK="

// goCommand runs the go command in dir. A question about one module needs GOWORK=off,
// for the answer would be about the workspace; one about packages must not have it.
func goCommand(env, dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...) //nolint:gosec,noctx // the arguments are written here; it ends by itself
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("measure: go %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}
