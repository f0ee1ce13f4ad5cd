// Package breached looks passwords up in a list of stolen ones that lies on the
// disk: the text of "Pwned Passwords" (Have I Been Pwned), ordered by hash, as
// its downloader writes it, or any other file of the same form.
//
// A line is the SHA-1 of a password in hexadecimal, and, or not, a colon and how
// often that password was seen; the lines are in the order of the hashes. Such a
// file has some 40 GB. Nothing of it is loaded: a question is a binary search
// with one read of a hundred bytes for each halving, some 23 of them, and of one
// last block.
package breached

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// lookAgain is how often [List.Watch] looks whether the file is another one.
const lookAgain = time.Second

// A List is a file of stolen passwords. Its methods may be called at the same
// time. Open one with [Open].
type List struct {
	path string
	// Kept, if set, hears why a file that has taken the place of the one in use is
	// not used, each second for as long as it lies there; the one before is, until
	// there is one that can be. Set it before Watch.
	Kept func(error)

	mu   sync.RWMutex // a file is not closed while somebody reads it
	file *os.File
	info os.FileInfo
}

// Open opens the list at that path. It fails, with a sentence that says what to
// do, unless the file can be read and looks like a list of SHA-1 hashes in their
// order: its first line, its last one and some hundred between them are looked
// at.
func Open(path string) (*List, error) {
	file, info, err := open(path)
	if err != nil {
		return nil, err
	}
	return &List{path: path, file: file, info: info}, nil
}

func open(path string) (*os.File, os.FileInfo, error) {
	// To open a named pipe that nobody writes to would wait, and a signal would not end that.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // whoever configures the server names it
	if err != nil {
		return nil, nil, fmt.Errorf("breached: cannot read the list of stolen passwords: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil {
		err = (&ordered{file, info.Size()}).check()
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, fmt.Errorf("breached: %s is not a list of stolen passwords: %w; take the SHA-1 list of Pwned Passwords, ordered by hash, unpacked", path, err)
	}
	return file, info, nil
}

// Has reports whether the list has a password with that SHA-1. An error means
// that nobody could tell: the file could not be read, is not what it seemed to
// be, or ctx has ended.
func (l *List) Has(ctx context.Context, hash [20]byte) (bool, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.file == nil {
		return false, fmt.Errorf("breached: %w", os.ErrClosed)
	}
	found, err := (&ordered{l.file, l.info.Size()}).has(ctx, hash)
	if err != nil {
		return false, fmt.Errorf("breached: look up: %w", err)
	}
	return found, nil
}

// Watch looks each second, also when nobody asks anything, whether the file at the path is
// another one, which is used from then on, until ctx ends. Put a new list in its place with
// one rename: one that is written over is read while it is half written. Watch a List once.
func (l *List) Watch(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.renew()
		}
	}
}

// renew opens the file at the path if it is another one. Whoever asks meanwhile
// is answered from the one before.
func (l *List) renew() {
	info, err := os.Stat(l.path)
	if err == nil && l.same(info) {
		return
	}
	var file *os.File
	if err == nil {
		file, info, err = open(l.path)
	} else {
		err = fmt.Errorf("breached: look at the list of stolen passwords: %w", err)
	}
	if err != nil {
		if l.Kept != nil {
			l.Kept(err)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		_ = file.Close() // closed meanwhile
		return
	}
	_ = l.file.Close()
	l.file, l.info = file, info
}

func (l *List) same(info os.FileInfo) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return os.SameFile(info, l.info) && info.Size() == l.info.Size() && info.ModTime().Equal(l.info.ModTime())
}

// Close closes the file. Nothing can be asked after that.
func (l *List) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
