package sqlstore

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
)

// ErrReplaced means that the path of a SQLite database leads to another file than the
// one that is open, or to none.
var ErrReplaced = errors.New("the file of the database was replaced or removed while it was open; restart this process " +
	"(what it committed to a file that is gone can be copied from /proc/PID/fd before that)")

// A heldFile is the file of a SQLite database, as it was opened. Connections go on with a
// file that was moved away or removed, and see nothing of what others commit to the one
// that has its place. A nil one is that of a server.
type heldFile struct {
	path   string
	opened os.FileInfo
	log    *slog.Logger
	// gone stays, also if the file comes back: connections that were made
	// meanwhile lead to the other one.
	gone atomic.Bool

	mu   sync.Mutex
	said time.Time
}

// holdFile returns nil if there is no file.
func holdFile(path string, log *slog.Logger) *heldFile {
	opened, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &heldFile{path: path, opened: opened, log: log}
}

// check looks at the file. It returns [ErrReplaced], and logs that once a minute, from
// when the file was first found to be another one.
func (f *heldFile) check() error {
	if f == nil {
		return nil
	}
	if !f.gone.Load() {
		now, err := os.Stat(f.path)
		if there := !errors.Is(err, fs.ErrNotExist); there && (err != nil || os.SameFile(f.opened, now)) {
			return nil
		}
		f.gone.Store(true)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.said) >= time.Minute {
		f.said = time.Now()
		f.log.Error("the database decides nothing any more", "file", f.path, "err", ErrReplaced)
	}
	return ErrReplaced
}

// found is what the last check has found.
func (f *heldFile) found() error {
	if f != nil && f.gone.Load() {
		return ErrReplaced
	}
	return nil
}

// guard lets every statement fail after a check has found another file.
func (f *heldFile) guard(db *gorm.DB) error {
	if f == nil {
		return nil
	}
	const name = "flakepass:file"
	refuse := func(tx *gorm.DB) { _ = tx.AddError(f.found()) }
	on := db.Callback()
	return errors.Join(
		on.Query().Before("gorm:query").Register(name, refuse), on.Row().Before("gorm:row").Register(name, refuse),
		on.Raw().Before("gorm:raw").Register(name, refuse), on.Create().Before("gorm:create").Register(name, refuse),
	)
}
