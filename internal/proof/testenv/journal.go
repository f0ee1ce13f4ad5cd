package testenv

import (
	"strings"
	"sync"
)

// A Journal keeps what a server writes and can be read meanwhile. The zero
// Journal is empty.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to the journal. It never fails.
func (j *Journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// String is all that was written so far.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Count is how often part was written so far.
func (j *Journal) Count(part string) int { return strings.Count(j.String(), part) }
