package fileworker_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/idworker/fileworker"
)

// TestAFileThatMayNotBeOpenedSaysWhatToDo is about what earlier versions have made as root.
func TestAFileThatMayNotBeOpenedSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "worker-0000"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // open files as another user does
		runtime.LockOSThread()
		t.Cleanup(func() {
			_ = syscall.Setfsuid(0)
			runtime.UnlockOSThread()
		})
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
	}
	l := &fileworker.Lender{Dir: dir}
	t.Cleanup(func() { _ = l.Close() })
	_, err := l.Acquire(t.Context(), 0)
	if err == nil || !strings.Contains(err.Error(), "permission denied") || !strings.Contains(err.Error(), "chown -R") || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v; want what to do", err)
	}
}
