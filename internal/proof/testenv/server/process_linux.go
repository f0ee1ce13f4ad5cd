package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// attributes puts the child in a process group of its own, so that a Ctrl-C at
// the terminal reaches only its parent, who ends it in order. The kernel sends
// atParentsDeath when the parent is gone, even if it was killed.
func attributes(atParentsDeath syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: atParentsDeath}
}

// awaitStopped returns once every thread of pid has state T: SIGSTOP takes
// effect some time after kill(2) has returned.
func awaitStopped(pid int) error {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(stats) == 0 {
			return fmt.Errorf("server: pause: process %d is gone", pid)
		}
		if allStopped(stats) {
			return nil
		}
	}
	return errors.New("server: pause: threads still run after 5 s")
}

func allStopped(stats []string) bool {
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		// "pid (name) state ...", where name may hold anything, even a ")".
		if state := text[bytes.LastIndexByte(text, ')')+1:]; !bytes.HasPrefix(state, []byte(" T")) {
			return false
		}
	}
	return true
}
