package fileworker_test

import (
	"encoding/binary"
	"os"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/idworker/fileworker"
)

// TestNameOfANewFileIsMadeDurable: after a power failure a file may be gone if its folder was not
// synced, and the fence of its number with it.
func TestNameOfANewFileIsMadeDurable(t *testing.T) {
	l := &fileworker.Lender{Dir: t.TempDir(), Before: t.TempDir()}
	t.Cleanup(func() { _ = l.Close() })
	opened := map[string]func() bool{l.Dir: openedAfterTheLastWrite(t, l.Dir), l.Before: openedAfterTheLastWrite(t, l.Before)}
	acquire(t, l)
	for dir, is := range opened {
		if !is() {
			t.Errorf("%s was not synced after a fence was written to a new file in it", dir)
		}
	}
}

// openedAfterTheLastWrite watches a folder. Nothing shows a sync, but the folder is opened for it.
func openedAfterTheLastWrite(t *testing.T, dir string) func() bool {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err == nil {
		_, err = syscall.InotifyAddWatch(fd, dir, syscall.IN_OPEN|syscall.IN_MODIFY)
	}
	if err != nil {
		t.Fatal("inotify:", err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { _ = events.Close() })
	return func() (opened bool) {
		b := make([]byte, 64<<10)
		n, err := events.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		for b = b[:n]; len(b) > 0; {
			mask, name := binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			switch {
			case mask&syscall.IN_MODIFY != 0:
				opened = false
			case mask&syscall.IN_OPEN != 0 && mask&syscall.IN_ISDIR != 0:
				opened = true
			}
			b = b[syscall.SizeofInotifyEvent+name:]
		}
		return opened
	}
}
