package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// MkdirAll makes a folder, and those above it that are missing, for their owner only.
// What root makes belongs to the owner of the folder that it is in.
func MkdirAll(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(path)
	if os.Geteuid() != 0 || above == path {
		return os.MkdirAll(path, 0o700)
	}
	if err := MkdirAll(above); err != nil {
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
	made, err := folder.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = made.Close() }()
	self, err := made.Open(".")
	if err != nil {
		return err
	}
	giveAway(self, folder)
	return self.Close()
}

// openOrMake opens a file to read and write. One that is missing is made for its owner only:
// if root makes it, for the owner of its folder, as SQLite does with its own. Otherwise one
// command of root's would lock a server out that runs as another user.
//
// The folder's owner may have put a link there. Root follows none out of the folder, or it would
// write into a file that the owner has chosen. Only what is made here is given away.
func openOrMake(path string) (*os.File, error) {
	if os.Geteuid() != 0 {
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller names it
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	name := filepath.Base(path)
	f, err := folder.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		giveAway(f, folder)
	}
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if f, err = folder.OpenFile(name, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("%w; if %s is a link, remove it", err, path)
	}
	return f, nil
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

// remedy adds what to do about a file that may not be opened.
func remedy(err error, folder string) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w; give the folder %s and the files in it to the user who runs this, for example with chown -R", err, folder)
}
