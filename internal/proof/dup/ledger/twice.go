package ledger

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/flakepass/flakepass/idworker"
)

// A Result is what a Ledger found.
type Result struct {
	// IDs is how many were added.
	IDs uint64

	// Twice is how many of them were there already. An ID that was minted three
	// times counts twice.
	Twice uint64

	// Examples are the first of those.
	Examples []idworker.ID
}

// Count is how many IDs were added so far.
func (l *Ledger) Count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Twice looks for IDs that were added more than once. It fails if a file cannot
// be read. More may be added afterwards.
func (l *Ledger) Twice() (Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = join(l.runs)
	sources := merge{{rest: l.runs}}
	for _, name := range l.files {
		f, err := os.Open(name)
		if err != nil {
			return Result{}, fmt.Errorf("ledger: %w", err)
		}
		defer func() { _ = f.Close() }()
		sources = append(sources, &source{file: bufio.NewReaderSize(f, 64<<10)})
	}
	var live merge
	for _, s := range sources {
		switch more, err := s.advance(); {
		case err != nil:
			return Result{}, err
		case more:
			live = append(live, s)
		}
	}
	heap.Init(&live)
	result := Result{IDs: l.total}
	var end uint64 // of all runs so far
	for len(live) > 0 {
		s := live[0]
		r := s.head
		if r.from < end {
			result.Twice += min(r.end, end) - r.from
			for k := r.from; k < min(r.end, end) && len(result.Examples) < shown; k++ {
				result.Examples = append(result.Examples, l.id(k))
			}
		}
		end = max(end, r.end)
		switch more, err := s.advance(); {
		case err != nil:
			return Result{}, err
		case more:
			heap.Fix(&live, 0)
		default:
			heap.Pop(&live)
		}
	}
	return result, nil
}

// A source is sorted runs in memory or in a file.
type source struct {
	head run
	rest []run
	file *bufio.Reader
}

// advance moves the head to the next run, and reports false if there is none.
func (s *source) advance() (bool, error) {
	if s.file == nil {
		if len(s.rest) == 0 {
			return false, nil
		}
		s.head, s.rest = s.rest[0], s.rest[1:]
		return true, nil
	}
	var b [16]byte
	switch _, err := io.ReadFull(s.file, b[:]); {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ledger: %w", err)
	}
	s.head = run{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
	return true, nil
}

// A merge is a heap of sources, the smallest run first.
type merge []*source

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return m[i].head.from < m[j].head.from }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push is never called: sources only end.
func (m *merge) Push(any) { panic("ledger: a source began late") }

// Pop implements [heap.Interface].
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
