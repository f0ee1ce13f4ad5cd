package fileworker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

var (
	// errBusy says that another process, or another Lender, holds the lock.
	errBusy = errors.New("fileworker: number is in use")

	// ErrDamaged says that neither copy of a fence can be read. The number is
	// passed over until somebody deletes its file, which is safe once its last
	// IDs are in the past.
	ErrDamaged = errors.New("fileworker: file is damaged")
)

// copyAt is the distance of the two copies of the record: that of two pages,
// so that no write of a disk touches both.
const copyAt = 4096

// take opens a number's file, locks it and reads the fence. It is errBusy if
// the lock is held and ErrDamaged if the fence cannot be told.
func take(path string) (*held, error) {
	// A file that was deleted between opening and locking is not the number's
	// file any more. Twice in a row does not happen by accident.
	for range 10 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a number below the Lender's folder
		if err != nil {
			return nil, err
		}
		h := &held{file: f}
		same, err := false, lock(f)
		if err == nil {
			same, err = sameFile(f, path)
		}
		if err == nil && same {
			err = h.read()
		}
		if err == nil && same {
			return h, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is being replaced", path)
}

// read finds the fence. Both copies were written before any fence was
// acknowledged, so the higher one that is whole is never lower than what was
// lent: not after a torn write, and not after damage to either copy. A file
// without a second copy never lent anything.
func (h *held) read() error {
	b := make([]byte, copyAt+recordLen)
	n, err := h.file.ReadAt(b, 0)
	if n < len(b) {
		if !errors.Is(err, io.EOF) {
			return err
		}
		h.fence = 0
		if first, ok := parseRecord(b[:recordLen]); ok {
			h.fence = first
		}
		return nil
	}
	first, ok1 := parseRecord(b[:recordLen])
	second, ok2 := parseRecord(b[copyAt:])
	switch {
	case ok1 && ok2:
		h.fence = max(first, second)
	case ok1:
		h.fence = first
	case ok2:
		h.fence = second
	default:
		return fmt.Errorf("%w: %s", ErrDamaged, h.file.Name())
	}
	return nil
}

// write makes the fence durable. The second copy is touched only when the first
// is on the disk. After a failure the disk may hold the old fence or the new
// one, whichever read finds; both are at or above what was acknowledged, and
// the next write writes everything again.
func (h *held) write(fence int64) error {
	if fence < 0 || fence > maxFence {
		return fmt.Errorf("fence %d is out of range", fence)
	}
	record := appendRecord(nil, fence)
	for _, at := range []int64{0, copyAt} {
		if _, err := h.file.WriteAt(record, at); err != nil {
			return err
		}
		if err := datasync(h.file); err != nil {
			return err
		}
	}
	h.fence = fence
	return nil
}

// close also accepts that there is nothing to close.
func (h *held) close() error {
	if h == nil {
		return nil
	}
	return h.file.Close()
}

// sameFile reports whether path still names the open file.
func sameFile(f *os.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(open, named), nil
}
