package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// What root makes in the data directory belongs to the owner of the folder that it is in, as
// SQLite's own files do: otherwise one command of root's would lock a server out that
// runs as another user. The folder of worker numbers does the same, in a module of its own.

// makeFolder makes a folder, and those above it that are missing, for their owner only.
func makeFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(path)
	if os.Geteuid() != 0 || above == path {
		return os.MkdirAll(path, 0o700)
	}
	if err := makeFolder(above); err != nil {
		return err
	}
	folder, err := os.OpenRoot(above)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	name := filepath.Base(path)
	if err := folder.Mkdir(name, 0o700); err != nil {
		return os.MkdirAll(path, 0o700) // another process was faster, or it is a file
	}
	self, err := folder.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = self.Close() }()
	made, err := self.Open(".")
	if err != nil {
		return err
	}
	giveAway(made, folder)
	return made.Close()
}

// openOrMake opens a file to read and write, and makes one that is missing for its owner
// only. The folder's owner may have put a link there: root makes nothing where it leads to,
// and gives away only what is made here.
func openOrMake(path string) (*os.File, error) {
	if os.Geteuid() != 0 {
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator names it
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	f, err := folder.OpenFile(filepath.Base(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		giveAway(f, folder)
	}
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	f, err = os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // as above
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; it is a link to a file that is missing: make that file, or remove the link", err)
	}
	return f, err
}

// giveAway gives the owner of a folder what was made in it. That may fail, as where root
// has no right to it: then the file stays root's.
func giveAway(made *os.File, folder *os.Root) {
	if info, err := folder.Stat("."); err == nil {
		if uid, gid, ok := ownerOf(info); ok {
			_ = made.Chown(uid, gid)
		}
	}
}

// whose adds what to do about a file that may not be opened.
func whose(err error) string {
	if !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return "; give it, and the folder that it is in, to the user who runs flakepass (chown), or run this as their owner"
}
