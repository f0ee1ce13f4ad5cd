package testenv

import (
	"os"
	"path/filepath"
	"strings"
)

// OtherModule reports whether folder, below root, is the top of a module that is
// not part of root's workspace (go.work): a module that is not released with ours.
func OtherModule(root, folder string) bool {
	below, err := filepath.Rel(root, folder)
	if err != nil || below == "." {
		return false
	}
	if _, err := os.Stat(filepath.Join(folder, "go.mod")); err != nil {
		return false
	}
	work, err := os.ReadFile(filepath.Join(root, "go.work"))
	return err != nil || !strings.Contains(string(work), "\n\t./"+filepath.ToSlash(below)+"\n")
}
