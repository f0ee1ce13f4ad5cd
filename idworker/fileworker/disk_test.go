package fileworker

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/flakepass/flakepass/idworker/internal/durable"
)

var errDisk = errors.New("no space left, or worse")

// A platter is a file on a disk that fails. What is written is in the cache at
// once, where the next process finds it, and reaches the disk with a sync; a power
// failure loses or tears any of what has not. After a sync that failed nothing is
// tried again, which is what Linux does.
type platter struct {
	r             *rand.Rand
	cache, disk   []byte
	pending       []pending
	faults        bool
	writes, syncs int
}

type pending struct {
	at   int64
	data []byte
}

func put(b []byte, at int64, data []byte) []byte {
	for int64(len(b)) < at+int64(len(data)) {
		b = append(b, 0)
	}
	copy(b[at:], data)
	return b
}

func (p *platter) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(p.cache)) {
		return 0, io.EOF
	}
	n := copy(b, p.cache[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (p *platter) WriteAt(b []byte, at int64) (int, error) {
	p.writes++
	n, err := len(b), error(nil)
	if p.faults && p.r.IntN(8) == 0 {
		n, err = p.r.IntN(len(b)), errDisk
	}
	p.cache = put(p.cache, at, b[:n])
	p.pending = append(p.pending, pending{at, append([]byte(nil), b[:n]...)})
	return n, err
}

func (p *platter) Datasync() error {
	p.syncs++
	if p.faults && p.r.IntN(8) == 0 {
		p.some()
		return errDisk
	}
	for _, w := range p.pending {
		p.disk = put(p.disk, w.at, w.data)
	}
	p.pending = nil
	return nil
}

// some of what is pending reaches the disk, in any order, and in pieces.
func (p *platter) some() {
	for _, i := range p.r.Perm(len(p.pending)) {
		w := p.pending[i]
		switch n := p.r.IntN(len(w.data) + 1); p.r.IntN(4) {
		case 0:
			p.disk = put(p.disk, w.at, w.data)
		case 1:
			p.disk = put(p.disk, w.at, w.data[:n])
		case 2: // the end without the beginning
			p.disk = put(p.disk, w.at+int64(n), w.data[n:])
		}
	}
	p.pending = nil
}

func (p *platter) powerFailure() {
	p.some()
	p.cache = append([]byte(nil), p.disk...)
}

func (*platter) Close() error { return nil }

// A stop ends a process between any two of its calls to the disk.
type stop struct {
	*platter
	after int
}

var errKilled = errors.New("killed")

func (s *stop) WriteAt(b []byte, at int64) (int, error) {
	if s.after--; s.after < 0 {
		return 0, errKilled
	}
	return s.platter.WriteAt(b, at)
}

func (s *stop) Datasync() error {
	if s.after--; s.after < 0 {
		return errKilled
	}
	return s.platter.Datasync()
}

// TestNoDiskLowersTheFence kills processes between any two writes, cuts the power,
// and lets writes and syncs fail. Kills and power failures do not even damage the
// file. It is internal: a disk that does so cannot be had from outside.
func TestNoDiskLowersTheFence(t *testing.T) {
	const disks = 6000
	damaged := 0
	for seed := range uint64(disks) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := &platter{r: r, faults: r.IntN(2) == 0}
		var least, most int64 // what may be read
		for life := 0; life < 6; life++ {
			s := &stop{p, 1 + r.IntN(20)}
			h := &held{file: durable.Over(s)}
			var err error
			h.fence, err = read(h.file)
			if errors.Is(err, ErrDamaged) && p.faults {
				damaged++ // a sync that failed: no owner gets the number
				break
			}
			if err != nil {
				t.Fatalf("seed %d, life %d: %v", seed, life, err)
			}
			if h.fence < least || h.fence > most {
				t.Fatalf("seed %d, life %d: the fence reads %d, want %d to %d", seed, life, h.fence, least, most)
			}
			acquired := false
			for range 6 { // as Acquire does, and then Extend
				if until := h.fence + r.Int64N(1000) - 200; until > h.fence || !acquired {
					until = max(until, h.fence)
					most = max(most, until)
					if err := h.write(until); errors.Is(err, errKilled) {
						break
					} else if err != nil {
						continue
					}
				}
				acquired = true
				least = h.fence // acknowledged
			}
			if acquired && r.IntN(3) == 0 { // as Release does, at the end of a life
				used := r.Int64N(h.fence + 1)
				least = min(least, used)
				if h.write(used) == nil {
					most = used
				}
			}
			if r.IntN(2) == 0 {
				p.powerFailure()
			}
		}
	}
	t.Logf("%d of %d disks were damaged", damaged, disks)
	if damaged > disks/100 {
		t.Error("too many")
	}
}
