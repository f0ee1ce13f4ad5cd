// Package ledger finds IDs that were minted twice among billions, in bounded
// memory.
//
// What one worker mints flat out is nearly without gaps once the worker is moved
// to the front of the ID: its sequences follow each other, and so do its ticks.
// So not IDs are kept but runs of them, 16 bytes each, in memory until there are
// too many, and then sorted in a file; at the end the files are merged. Memory is
// 16 bytes times Limit, twice while sorting, and 64 KiB for each file. A file
// needs 16 bytes for each run, which is 16 bytes for each ID if no two IDs are
// neighbours, and next to nothing otherwise.
package ledger

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/flakepass/flakepass/idworker"
)

// shown is how many of the IDs that were minted twice are named.
const shown = 5

// A Ledger takes IDs down. Set the fields before use. Its methods may be called
// at the same time.
type Ledger struct {
	// Layout is that of the IDs.
	Layout idworker.Layout

	// Dir is where files go. The Ledger leaves them there.
	Dir string

	// Limit is how many runs are kept in memory; 0 means 4 million.
	Limit int

	mu    sync.Mutex
	runs  []run
	files []string
	total uint64
}

// A run is keys that follow each other, end excluded.
type run struct{ from, end uint64 }

// Add takes down what was minted, in any order. It fails if a file
// cannot be written.
func (l *Ledger) Add(ids []idworker.ID) error {
	keys := make([]uint64, len(ids))
	for i, id := range ids {
		keys[i] = l.key(id)
	}
	slices.Sort(keys) // almost nothing if they are in order already
	var runs []run
	for _, k := range keys {
		if n := len(runs); n > 0 && runs[n-1].end == k {
			runs[n-1].end++
			continue
		}
		runs = append(runs, run{k, k + 1})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += uint64(len(ids))
	l.runs = append(l.runs, runs...)
	limit := l.Limit
	if limit == 0 {
		limit = 4 << 20
	}
	if len(l.runs) <= limit {
		return nil
	}
	if l.runs = join(l.runs); len(l.runs) <= limit/2 {
		return nil // what was interleaved is whole now
	}
	return l.spill()
}

// join sorts runs and makes one of those that touch. Those that overlap stay
// apart: they are what is looked for.
func join(runs []run) []run {
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	joined := runs[:0]
	for _, r := range runs {
		if n := len(joined); n > 0 && joined[n-1].end == r.from {
			joined[n-1].end = r.end
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

func (l *Ledger) spill() error {
	name := filepath.Join(l.Dir, fmt.Sprintf("runs-%d", len(l.files)))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	var b [16]byte
	for _, r := range l.runs {
		binary.LittleEndian.PutUint64(b[:], r.from)
		binary.LittleEndian.PutUint64(b[8:], r.end)
		_, err = w.Write(b[:]) // an error stays with the Writer
	}
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.files, l.runs = append(l.files, name), l.runs[:0]
	return nil
}

// key is an ID with the number of its worker in front.
func (l *Ledger) key(id idworker.ID) uint64 {
	node, seq := l.Layout.DatacenterBits+l.Layout.WorkerBits, l.Layout.SequenceBits
	n := uint64(id)
	tick := n >> (node + seq)
	number, sequence := n>>seq&(1<<node-1), n&(1<<seq-1)
	if l.Layout.WorkerLast {
		number, sequence = n&(1<<node-1), n>>node&(1<<seq-1)
	}
	return number<<(63-node) | tick<<seq | sequence
}

// id is what key was made of.
func (l *Ledger) id(key uint64) idworker.ID {
	node, seq := l.Layout.DatacenterBits+l.Layout.WorkerBits, l.Layout.SequenceBits
	number := key >> (63 - node)
	tick := key & (1<<(63-node) - 1) >> seq
	sequence := key & (1<<seq - 1)
	if l.Layout.WorkerLast {
		return idworker.ID(tick<<(node+seq) | sequence<<node | number)
	}
	return idworker.ID(tick<<(node+seq) | number<<seq | sequence)
}
