package fileworker_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
)

func TestLenderKeepsThePromise(t *testing.T) {
	idworkertest.TestLender(t, func(t *testing.T) func() idworker.Lender {
		dir := filepath.Join(t.TempDir(), "made", "when needed")
		return func() idworker.Lender {
			l := &fileworker.Lender{Dir: dir}
			t.Cleanup(func() { _ = l.Close() })
			return l
		}
	})
}

func TestSecondProcessIsNotLockedOut(t *testing.T) {
	server, command := open(t, t.TempDir()), &fileworker.Lender{}
	command.Dir = server.Dir
	defer command.Close()
	for i, l := range []*fileworker.Lender{server, command} {
		if g := acquire(t, l); g.Number != i {
			t.Errorf("lender %d got number %d", i, g.Number)
		}
	}
}

func TestNumberWhoseFenceIsAheadIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	dead := open(t, dir)
	g, err := dead.Acquire(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	l := open(t, dir)
	if next := acquire(t, l); next.Number == g.Number {
		t.Errorf("got number %d, which has to wait until %v, before one that need not", next.Number, g.Until)
	}
	l = &fileworker.Lender{Dir: dir, Numbers: 1}
	defer l.Close()
	if next := acquire(t, l); next.Number != 0 || !next.From.Equal(g.Until) {
		t.Errorf("the only number's range begins at %v, want the fence %v", next.From, g.Until)
	}
	if _, err := l.Acquire(t.Context(), time.Second); !errors.Is(err, idworker.ErrNoNumber) {
		t.Errorf("with every number in use: %v, want ErrNoNumber", err)
	}
}

// TestNumberIsHeldInTheDirectoryBefore: processes that know only that one may still run.
func TestNumberIsHeldInTheDirectoryBefore(t *testing.T) {
	earlier := open(t, t.TempDir())
	l := &fileworker.Lender{Dir: t.TempDir(), Before: earlier.Dir, Numbers: 1}
	defer l.Close()
	g, err := earlier.Acquire(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context(), time.Second); !errors.Is(err, idworker.ErrNoNumber) {
		t.Errorf("the number is in use there, and lent here: %v", err)
	}
	earlier.Close()
	next := acquire(t, l)
	if !next.From.Equal(g.Until) {
		t.Errorf("the range begins at %v, want the fence there, %v", next.From, g.Until)
	}
	if n := acquire(t, earlier).Number; n == next.Number {
		t.Errorf("number %d is lent here, and there", n)
	}
	l.Close()
	earlier.Close()
	earlier.Numbers = 1
	if from := acquire(t, earlier).From; from.Before(next.Until) {
		t.Errorf("there a range begins at %v, and here one ended at %v", from, next.Until)
	}
}

func TestDirectoryBeforeThatIsAbsentOrTheSame(t *testing.T) {
	l := open(t, t.TempDir())
	l.Before = filepath.Join(l.Dir, "absent")
	acquire(t, l)
	if _, err := os.Stat(l.Before); err == nil {
		t.Error("it was made")
	}
	l.Before += "/.."
	if err := os.Mkdir(filepath.Join(l.Dir, "absent"), 0o700); err != nil {
		t.Fatal(err)
	}
	if g := acquire(t, l); g.Number != 1 {
		t.Errorf("got number %d, want 1", g.Number)
	}
}

func TestDeletedFileLosesTheNumber(t *testing.T) {
	l := open(t, t.TempDir())
	g := acquire(t, l)
	if err := os.Remove(filepath.Join(l.Dir, "worker-0000")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Extend(t.Context(), g, g.Until.Add(time.Second)); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
}

// TestNoDamageLowersTheFence cuts and damages the file in every place.
func TestNoDamageLowersTheFence(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	fence := acquire(t, l).Until
	l.Close()
	path := filepath.Join(dir, "worker-0000")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, at int, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		// The clock is before the fence: a fence forgotten would show.
		l := &fileworker.Lender{Dir: dir, Numbers: 1, Now: func() time.Time { return fence.Add(-time.Hour) }}
		defer l.Close()
		g, err := l.Acquire(t.Context(), time.Second)
		if err == nil && g.From.Before(fence) || err != nil && !errors.Is(err, fileworker.ErrDamaged) {
			t.Errorf("%s at %d: lent from %v, fence %v, error %v", what, at, g.From, fence, err)
		}
	}
	for i, c := range whole {
		if c == 0 {
			continue // between the copies
		}
		for bit := range 8 {
			damaged := append([]byte(nil), whole...)
			damaged[i] ^= 1 << bit
			check("a bit flipped", i, damaged)
		}
	}
	// A write that stopped halfway, of either copy.
	for _, start := range []int{0, 4096} {
		for n := range 33 {
			torn := append([]byte(nil), whole...)
			copy(torn[start:start+n], "fence 0000000000000001 00000000\n")
			check("torn", start+n, torn)
		}
	}
	both := append([]byte(nil), whole...)
	both[10]++
	both[4096+10]++
	check("both copies damaged", 10, both)
}

func TestDamagedNumberIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "worker-0000"), make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	if g := acquire(t, open(t, dir)); g.Number != 1 {
		t.Errorf("got number %d, want 1", g.Number)
	}
}

func TestFirstWriteTornIsANewNumber(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "worker-0000"), []byte("fence 00017"), 0o600); err != nil {
		t.Fatal(err)
	}
	if g := acquire(t, open(t, dir)); g.Number != 0 {
		t.Errorf("got number %d, want 0: nothing was ever lent under it", g.Number)
	}
}

func open(t *testing.T, dir string) *fileworker.Lender {
	l := &fileworker.Lender{Dir: dir}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func acquire(t *testing.T, l *fileworker.Lender) idworker.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
