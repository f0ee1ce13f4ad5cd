// Package durable keeps one short record in a file that one process at a time
// may hold. What is written is on the disk before Write returns, and a write
// that stops halfway, or damage to either of two copies, loses no record that
// was acknowledged.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrBusy says that another process, or another File, holds the lock.
var ErrBusy = errors.New("file is in use")

// copyAt is the distance of the two copies of the record: that of two pages,
// so that no write of a disk touches both.
const copyAt = 4096

// A Disk is what a File needs of its file.
type Disk interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	// Datasync returns when what was written is on the disk.
	Datasync() error
}

type osFile struct{ *os.File }

func (f osFile) Datasync() error { return datasync(f.File) }

// A File is held until it is closed or its process ends, however that ends. Its
// methods are not for use at the same time.
type File struct {
	file  Disk
	named *os.File // the same file, which path names; nil in a test
	path  string
	torn  int  // the copy that may be damaged; the other one is whole
	clean bool // all that was written is on the disk
}

// Over is a File on any disk, without a name or a lock: for tests, whose disks
// fail.
func Over(d Disk) *File { return &File{file: d} }

// Open opens a file, which it makes if absent, and locks it. It is [ErrBusy] if
// the lock is held. The name of a new file is durable after [SyncDir].
func Open(path string) (*File, error) {
	// A file that was deleted between opening and locking is not the one that
	// path names any more. Twice in a row does not happen by accident.
	for range 10 {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller names it
		if err != nil {
			return nil, remedy(err, filepath.Dir(path))
		}
		f := &File{file: osFile{file}, named: file, path: path}
		same, err := false, lock(file)
		if err == nil {
			same, err = f.Named()
		}
		if err == nil && same {
			return f, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is being replaced", path)
}

// Read returns both copies of a record, as they are. A copy that is not there
// is nil.
//
// Both were written before any Write returned, and one at a time: a file without
// a second copy has acknowledged nothing, and a copy that is whole is at least as
// new as what was acknowledged.
func (f *File) Read(length int) (first, second []byte, err error) {
	b := make([]byte, copyAt+length)
	n, err := f.file.ReadAt(b, 0)
	if n < len(b) && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if n >= length {
		first = b[:length]
	}
	if n == len(b) {
		second = b[copyAt:]
	}
	return first, second, nil
}

// Damaged says that the second copy which Read returned is no record, and the
// first is: the next Write begins with the second.
func (f *File) Damaged() { f.torn = 1 }

// Write makes a record durable, in both copies. A copy is touched only when the
// other one is on the disk, and one that may be damaged goes first: no two
// failures in a row damage both. After a failure either may hold the old record
// or the new one, or the one being written neither; the next Write writes
// everything again.
func (f *File) Write(record []byte) error {
	if !f.clean {
		// A process that was killed may have left a copy on its way.
		if err := f.file.Datasync(); err != nil {
			return err
		}
	}
	f.clean = false
	first := f.torn
	for _, f.torn = range []int{first, 1 - first} {
		if _, err := f.file.WriteAt(record, int64(f.torn)*copyAt); err != nil {
			return err
		}
		if err := f.file.Datasync(); err != nil {
			return err
		}
	}
	f.torn, f.clean = 0, true
	return nil
}

// Named reports whether the path still names this file: it is false once the
// file was deleted or replaced.
func (f *File) Named() (bool, error) {
	open, err := f.named.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(open, named), nil
}

// Close lets go of the lock.
func (f *File) Close() error { return f.file.Close() }

// remedy adds what to do about a file that may not be opened.
func remedy(err error, folder string) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w; give the folder %s and the files in it to the user who runs this, for example with chown -R", err, folder)
}
