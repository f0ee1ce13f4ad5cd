//go:build unix

package main

import (
	"encoding/binary"
	"os"
	"syscall"
	"time"
)

// A clock is the error of one process's clock: nanoseconds in a file of 8 bytes,
// which the command writes and the process reads at each look at the clock.
type clock struct{ mem []byte }

func openClock(name string) (clock, error) {
	mem, err := mapped(name, 8)
	return clock{mem}, err
}

func (c clock) set(d time.Duration) { binary.LittleEndian.PutUint64(c.mem, uint64(d)) }

func (c clock) off() time.Duration { return time.Duration(binary.LittleEndian.Uint64(c.mem)) }

func (c clock) now() time.Time { return time.Now().Add(c.off()) }

// mapped is a file in memory, made if absent. What is written there survives the
// process, however it ends, though not the machine.
func mapped(name string, size int) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the mapping stays
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}
