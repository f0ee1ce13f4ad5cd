package fileworker

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/flakepass/flakepass/idworker/internal/durable"
)

// ErrDamaged says that neither copy of a fence can be read. The number is
// skipped until a person deletes its file, which is safe once its last
// IDs are in the past.
var ErrDamaged = errors.New("fileworker: file is damaged")

// take takes a number, in Before too.
func (l *Lender) take(number int) (*held, error) {
	name := fmt.Sprintf("worker-%04d", number)
	h, err := take(filepath.Join(l.Dir, name))
	if err != nil || l.Before == "" {
		return h, err
	}
	twice, err := apart(l.Dir, l.Before)
	if err == nil && twice {
		if h.before, err = take(filepath.Join(l.Before, name)); err == nil {
			h.fence = max(h.fence, h.before.fence)
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// apart reports whether other is there, and is not dir by another name.
func apart(dir, other string) (bool, error) {
	o, err := os.Stat(other)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	d, err2 := os.Stat(dir)
	if err := errors.Join(err, err2); err != nil {
		return false, err
	}
	return !os.SameFile(o, d), nil
}

// take opens a number's file, locks it and reads the fence. It is
// [durable.ErrBusy] if the lock is held and ErrDamaged if the fence cannot be
// read.
func take(path string) (*held, error) {
	file, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	h := &held{file: file}
	if h.fence, err = read(file); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s", err, path), file.Close())
	}
	return h, nil
}

// read finds the fence. The higher one that is whole is never lower than what
// was lent: not after a torn write, and not after damage to either copy. A file
// without a second copy never lent anything.
func read(file *durable.File) (int64, error) {
	a, b, err := file.Read(recordLen)
	if err != nil {
		return 0, err
	}
	first, ok1 := parseRecord(a)
	second, ok2 := parseRecord(b)
	switch {
	case b != nil && !ok1 && !ok2:
		return 0, ErrDamaged
	case b != nil && !ok2:
		file.Damaged()
	}
	return max(first, second), nil // one that cannot be read is 0
}

// write makes the fence durable. After a failure the disk may hold the old
// fence or the new one, whichever read finds; both are at or above what was
// acknowledged.
func (h *held) write(fence int64) error {
	if fence < 0 || fence > maxFence {
		return fmt.Errorf("fence %d is out of range", fence)
	}
	if h.before != nil {
		if err := h.before.write(fence); err != nil {
			return err
		}
	}
	if err := h.file.Write(appendRecord(nil, fence)); err != nil {
		return err
	}
	h.fence = fence
	return nil
}

// close also accepts that there is nothing to close.
func (h *held) close() error {
	if h == nil {
		return nil
	}
	return errors.Join(h.before.close(), h.file.Close())
}

// A record is a line of text, for people who look into the directory:
//
//	fence 0001763718183123 5f3a9c01
//
// The number is in Unix milliseconds; the last word is the CRC-32C of what is
// before it.
const (
	recordLen = 32
	sumAt     = 23
	maxFence  = 9999999999999999
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendRecord(b []byte, fence int64) []byte {
	at := len(b)
	b = fmt.Appendf(b, "fence %016d ", fence)
	return fmt.Appendf(b, "%08x\n", crc32.Checksum(b[at:], castagnoli))
}

// parseRecord reports false for anything that appendRecord would not have
// written.
func parseRecord(b []byte) (fence int64, ok bool) {
	if len(b) != recordLen {
		return 0, false
	}
	fence, err := strconv.ParseInt(string(b[6:sumAt-1]), 10, 64)
	if err != nil || fence < 0 || !bytes.Equal(b, appendRecord(nil, fence)) {
		return 0, false
	}
	return fence, true
}
