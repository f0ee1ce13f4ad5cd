package zkworker

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/flakepass/flakepass/idworker/internal/durable"
)

// Close lets go of the file, as the end of the process would, and returns when
// no goroutine of its own is left. Nothing is handed back. The [Client] stays
// open.
func (k *Keyed) Close() error {
	k.mu.Lock()
	k.closed, k.owner = true, ""
	if k.cancel != nil {
		k.cancel()
	}
	k.mu.Unlock()
	k.waiting.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		return nil
	}
	err := k.file.Close()
	k.file = nil
	return err
}

// open opens the file, once, and reads what is in it. A file that cannot be
// read, or is another key's, is as good as lost.
func (k *Keyed) open() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return ErrClosed
	case k.file != nil:
		return nil
	case k.Key == "":
		return errors.New("the key is empty")
	}
	if err := durable.MkdirAll(filepath.Dir(k.File)); err != nil {
		return err
	}
	file, err := durable.Open(k.File)
	if errors.Is(err, durable.ErrBusy) {
		return fmt.Errorf("%w: %s", ErrInUse, k.File)
	}
	if err != nil {
		return err
	}
	first, second, err := file.Read(recordLen)
	if err == nil {
		err = durable.SyncDir(filepath.Dir(k.File)) // the file may be new
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	// What was acknowledged is in both copies; see durable.File.
	r, ok := parseReserve(first)
	other, both := parseReserve(second)
	switch {
	case !ok:
		r, ok = other, both
	case second != nil && !both:
		file.Damaged()
	}
	if second == nil || !ok || r.name != nameOf(k.Root, k.Key) {
		r = reserve{}
	}
	k.file, k.kept, k.turn = file, r, make(chan struct{}, 1)
	return nil
}

// write makes a reserve durable, and then the one that counts. The caller holds
// k.mu.
func (k *Keyed) write(r reserve) error {
	if k.file == nil {
		return ErrClosed
	}
	if r.number > maxNumber || r.used < 0 || r.until > maxFence {
		return fmt.Errorf("number %d until %d cannot be kept", r.number, r.until)
	}
	if err := k.file.Write(r.encode()); err != nil {
		return err
	}
	k.kept = r
	return nil
}
