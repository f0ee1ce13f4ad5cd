package breached_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/breached"
)

const (
	upper = "%X"
	lower = "%x"
)

// text is a list of these hashes.
func text(hashes [][20]byte, digits, end string, counts bool) []byte {
	slices.SortFunc(hashes, func(a, b [20]byte) int { return bytes.Compare(a[:], b[:]) })
	var b bytes.Buffer
	for i, h := range slices.Compact(hashes) {
		fmt.Fprintf(&b, digits, h[:])
		if counts {
			b.WriteString(":" + strconv.Itoa(7*(i*i%1000*i+1)))
		}
		b.WriteString(end)
	}
	return b.Bytes()
}

// many is a list of the passwords 0 to n-1.
func many(n int) []byte {
	hashes := make([][20]byte, n)
	for i := range hashes {
		hashes[i] = sum(strconv.Itoa(i))
	}
	return text(hashes, upper, "\r\n", true)
}

// A list says of every hash what a map says, however its lines are written and
// wherever they lie.
func TestListIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(1, 600).Draw(t, "n")
		spread := rapid.SampledFrom([]int{20, 3, 2}).Draw(t, "bytes that differ") // neighbours, and hashes close together
		hashes, is := make([][20]byte, n), map[[20]byte]bool{}
		draw := func() (h [20]byte) {
			for i := range spread {
				h[i] = byte(rng.Uint32())
			}
			return h
		}
		for i := range hashes {
			hashes[i] = draw()
			is[hashes[i]] = true
		}
		list := text(hashes, rapid.SampledFrom([]string{upper, lower}).Draw(t, "digits"),
			rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"), rapid.Bool().Draw(t, "counts"))
		if rapid.Bool().Draw(t, "no last end") {
			list = bytes.TrimRight(list, "\r\n")
		}
		r, size := bytes.NewReader(list), int64(len(list))
		if err := breached.Check(r, size); err != nil {
			t.Fatal(err)
		}
		ask := func(h [20]byte) {
			if got, err := breached.Has(context.Background(), r, size, h); got != is[h] || err != nil {
				t.Fatalf("%x: %v, %v, want %v", h, got, err, is[h])
			}
		}
		for h := range is {
			ask(h)
			for _, d := range []byte{1, 255} {
				h[spread-1] += d // beside it
				ask(h)
				h[spread-1] -= d
			}
		}
		for range 20 {
			ask(draw())
		}
		ask([20]byte{})
		ask([20]byte(bytes.Repeat([]byte{0xFF}, 20)))
	})
}

// Whatever the file is, it is refused or searched: nothing panics, and nothing
// is found that is not there.
func FuzzList(f *testing.F) {
	f.Add(listOf("one", "two"), []byte("one"))
	f.Add(many(300), []byte("7"))
	f.Add([]byte("\n\n\n"), []byte(""))
	f.Add([]byte(":::"), []byte("x"))
	f.Fuzz(func(t *testing.T, file, password []byte) {
		hash := sum(string(password))
		for _, times := range []int{1, 200} { // small, and large enough to be halved
			text := bytes.Repeat(file, times)
			if len(text) > 1<<20 {
				return
			}
			r, size := bytes.NewReader(text), int64(len(text))
			_ = breached.Check(r, size)
			found, _ := breached.Has(t.Context(), r, size, hash)
			if there := bytes.Contains(bytes.ToUpper(text), fmt.Appendf(nil, upper, hash[:])); found && !there {
				t.Errorf("%x found in %q", hash, file)
			}
		}
	})
}

// A counted reader counts what is asked of it.
type counted struct {
	io.ReaderAt
	reads, bytes int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	c.reads++
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, at)
}

// endless is a list of a billion hashes, 0, 1, 2 and so on in the first eight
// bytes, that is nowhere: some 45 GB.
type endless struct{ lines int64 }

const endlessLine = 45

func (e endless) size() int64 { return e.lines * endlessLine }

func (e endless) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) && at < e.size() {
		var h [20]byte
		for i, v := 0, at/endlessLine; i < 8; i++ {
			h[i] = byte(v >> (56 - 8*i))
		}
		c := copy(p[n:], fmt.Sprintf("%X:%03d\n", h[:], at%997)[at%endlessLine:])
		n, at = n+c, at+int64(c)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// A look-up in a list of the size of the real one takes a read for each halving
// and one for the rest, and a few kilobytes.
func TestLookupReadsLittle(t *testing.T) {
	list := endless{1 << 30}
	r := &counted{ReaderAt: list}
	if err := breached.Check(r, list.size()); err != nil {
		t.Fatal(err)
	}
	t.Logf("check: %d reads, %d bytes", r.reads, r.bytes)
	for _, n := range []uint64{0, 1, 12345, 1<<29 - 1, 1<<30 - 1, 1 << 30} {
		*r = counted{ReaderAt: list}
		var h [20]byte
		for i := range 8 {
			h[i] = byte(n >> (56 - 8*i))
		}
		found, err := breached.Has(t.Context(), r, list.size(), h)
		if found != (n < 1<<30) || err != nil {
			t.Errorf("%d: %v, %v", n, found, err)
		}
		if r.reads > 26 || r.bytes > 8192 {
			t.Errorf("%d: %d reads, %d bytes", n, r.reads, r.bytes)
		}
	}
}

func BenchmarkHas(b *testing.B) {
	text := many(testenv.Brief(1<<20, 1<<10))
	r := &counted{ReaderAt: bytes.NewReader(text)}
	rng := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		var h [20]byte
		for i := range h {
			h[i] = byte(rng.Uint32())
		}
		if _, err := breached.Has(b.Context(), r, int64(len(text)), h); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(r.reads)/float64(b.N), "reads/op")
	b.ReportMetric(float64(r.bytes)/float64(b.N), "B-read/op")
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
