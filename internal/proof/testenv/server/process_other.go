//go:build unix && !linux

package server

import "syscall"

// attributes puts the child in a process group of its own. Only Linux can also
// promise the child's end when the parent is killed.
func attributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitStopped believes that SIGSTOP has taken effect.
func awaitStopped(int) error { return nil }
