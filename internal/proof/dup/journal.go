//go:build unix

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/flakepass/flakepass/idworker"
)

const (
	slots     = 1 << 20 // of 8 bytes, in a file of a journal
	mostFiles = 64
)

var errFull = errors.New("the journal is full")

// A journal is where a process writes its IDs down, several callers at once. It
// is a row of files in mapped memory: an ID is there as soon as it is stored, by
// one instruction. A slot that its caller was killed before filling is 0.
type journal struct {
	prefix string
	page   atomic.Pointer[page]

	mu    sync.Mutex
	files int
}

// A page is a file of a journal.
type page struct {
	mem  []byte
	next atomic.Int64
}

func newJournal(prefix string) (*journal, error) {
	j := &journal{prefix: prefix}
	return j, j.turn(nil)
}

// turn goes on with a new file, unless another has one after old.
func (j *journal) turn(old *page) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.page.Load() != old:
		return nil
	case j.files == mostFiles:
		return errFull
	}
	mem, err := mapped(fmt.Sprintf("%s%03d", j.prefix, j.files), 8*slots)
	if err != nil {
		return err
	}
	j.files++
	j.page.Store(&page{mem: mem})
	return nil
}

// note writes an ID down. It is errFull at the end of the last file.
func (j *journal) note(id idworker.ID) error {
	for {
		p := j.page.Load()
		if at := p.next.Add(1) - 1; at < slots {
			binary.LittleEndian.PutUint64(p.mem[8*at:], uint64(id))
			return nil
		}
		if err := j.turn(p); err != nil {
			return err
		}
	}
}

// collect reads the journal of a process that has ended, file by file, and
// removes it.
func collect(prefix string, take func([]idworker.ID) error) error {
	names, err := filepath.Glob(prefix + "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		ids := make([]idworker.ID, 0, len(b)/8)
		for ; len(b) >= 8; b = b[8:] {
			if id := idworker.ID(binary.LittleEndian.Uint64(b)); id != 0 {
				ids = append(ids, id)
			}
		}
		if err := take(ids); err != nil {
			return err
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
