//go:build unix

package zkworkertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
	"github.com/flakepass/flakepass/idworker/zkworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestKeyedKeepsThePromise is one key on many machines. The file of a process
// that has died is the next one's.
func TestKeyedKeepsThePromise(t *testing.T) {
	idworkertest.TestLender(t, func(t *testing.T) func() idworker.Lender {
		addr, root := testenv.ZooKeeper(t)
		var mu sync.Mutex
		var left []string
		machines := 0
		return func() idworker.Lender {
			mu.Lock()
			defer mu.Unlock()
			c := connect(t, addr)
			k := &zkworker.Keyed{Client: c, Root: root, Key: "10.0.0.7:8080", Offline: time.Minute}
			if len(left) > 0 {
				k.File, left = left[0], left[1:]
			} else {
				k.File = filepath.Join(t.TempDir(), fmt.Sprint("machine", machines), "reserve")
				machines++
			}
			t.Cleanup(func() { _ = k.Close() })
			return dying{k, func() error {
				mu.Lock()
				defer mu.Unlock()
				left = append(left, k.File)
				return errors.Join(k.Close(), c.Close())
			}}
		}
	})
}

// keyed opens a Keyed as a process would; its end is the test's, or close.
func keyed(t testing.TB, addr, root, file string) (k *zkworker.Keyed, end func()) {
	t.Helper()
	c := connect(t, addr)
	k = &zkworker.Keyed{Client: c, Root: root, Key: "10.0.0.7:8080", File: file, Offline: time.Hour}
	end = func() { _ = k.Close(); _ = c.Close() }
	t.Cleanup(end)
	return k, end
}

// TestStartsWhileZooKeeperIsDown: over a kill -9 of ZooKeeper and any number of
// restarts, with the number of before, to the end of the reserve.
func TestStartsWhileZooKeeperIsDown(t *testing.T) {
	t.Parallel()
	z := testenv.OwnZooKeeper(t)
	file := filepath.Join(t.TempDir(), "reserve")
	var all idworkertest.Ledger
	ids := seen{}

	k, end := keyed(t, z.Addr, "/w", file)
	k.Offline = 20 * time.Second
	g := acquire(t, k)
	all.Lent(g)
	end()
	z.Kill()
	for range 3 {
		k, end = keyed(t, z.Addr, "/w", file)
		w, err := idworker.Open(t.Context(), k, idworker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if w.Number() != g.Number {
			t.Errorf("number %d, want %d as before", w.Number(), g.Number)
		}
		for range 5000 {
			id, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ids.add(t, id)
		}
		end() // without Close of the worker: killed
	}

	k, _ = keyed(t, z.Addr, "/w", file)
	k.Offline = 20 * time.Second
	again := acquire(t, k)
	all.Lent(again)
	// More than there is.
	want := again.Until.Add(time.Minute)
	if longer, err := k.Extend(t.Context(), again, want); !errors.Is(err, zkworker.ErrReserveUsed) {
		t.Errorf("extended beyond the reserve: %+v, %v, want ErrReserveUsed", longer, err)
	}
	z.Start()
	testenv.Eventually(t, patience, func() bool {
		longer, err := k.Extend(t.Context(), again, want)
		if err == nil {
			all.Lent(longer)
		}
		return err == nil && !longer.Until.Before(want)
	}, "the reserve is extended when ZooKeeper is back")
	if err := all.Overlap(); err != nil {
		t.Error(err)
	}
	// What was lent without ZooKeeper, it knows.
	other := &zkworker.Lender{Client: connect(t, z.Addr), Root: "/w", Numbers: 1}
	if g, err := other.Acquire(t.Context(), time.Second); !errors.Is(err, idworker.ErrNoNumber) {
		t.Errorf("the number of a living reserve was lent: %+v, %v", g, err)
	}
}

// TestReserveRunsOut: a worker that mints all the way to the end stops there
// with a typed error, and no ID is at or beyond what ZooKeeper has set aside.
func TestReserveRunsOut(t *testing.T) {
	t.Parallel()
	addr, root := testenv.ZooKeeper(t)
	relay := newRelay(t, addr)
	file := filepath.Join(t.TempDir(), "reserve")
	k, _ := keyed(t, relay.addr, root, file)
	k.Offline = 3 * time.Second
	w, err := idworker.Open(t.Context(), k, idworker.Options{Window: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	relay.Cut(true)
	all := seen{}
	if err := mint(t, w, all); !errors.Is(err, zkworker.ErrReserveUsed) {
		t.Errorf("at the end: %v, want ErrReserveUsed", err)
	}
	fence := fenceOf(t, plain(t, addr), root, 0)
	for id := range all {
		if at := idworker.Default().Decompose(id).Time; !at.Before(fence) {
			t.Fatalf("an ID has the time %v, and the fence is %v", at, fence)
		}
	}
	relay.Cut(false)
	testenv.Eventually(t, patience, func() bool {
		id, err := w.Next(t.Context())
		if err == nil {
			all.add(t, id)
		}
		return err == nil
	}, "minting goes on when ZooKeeper is back")
	if w.Number() != 0 {
		t.Errorf("number %d, want 0 as before", w.Number())
	}
}

// TestReserveIsFilledUp: in good time, and without a question on the way.
func TestReserveIsFilledUp(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	k, _ := keyed(t, addr, root, filepath.Join(t.TempDir(), "reserve"))
	var late time.Duration
	var mu sync.Mutex
	k.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(late) }
	g := acquire(t, k)
	conn := plain(t, addr)
	before := fenceOf(t, conn, root, g.Number)
	mu.Lock()
	late = 10 * time.Minute
	mu.Unlock()
	testenv.Eventually(t, patience, func() bool {
		if _, err := k.Extend(t.Context(), g, g.Until.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		return fenceOf(t, conn, root, g.Number).After(before.Add(9 * time.Minute))
	}, "the reserve is filled up after an eighth of it is gone")
}

// TestTwoMachinesWithOneKey: the second gets another number, and both keep
// theirs over restarts.
func TestTwoMachinesWithOneKey(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	files := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	var ledger idworkertest.Ledger
	for range 3 {
		var ends []func()
		for i, file := range files {
			k, end := keyed(t, addr, root, file)
			g := acquire(t, k)
			ledger.Lent(g)
			if g.Number != i {
				t.Errorf("machine %d has number %d", i, g.Number)
			}
			ends = append(ends, end)
		}
		for _, end := range ends {
			end()
		}
	}
	if err := ledger.Overlap(); err != nil {
		t.Error(err)
	}
	k, _ := keyed(t, addr, root, files[0])
	acquire(t, k)
	second, _ := keyed(t, addr, root, files[0])
	if g, err := second.Acquire(t.Context(), time.Second); !errors.Is(err, zkworker.ErrInUse) {
		t.Errorf("a second process with the same file: %+v, %v, want ErrInUse", g, err)
	}
}

// TestRacingMachinesGetDifferentNumbers: all see the same numbers whose reserve
// has passed, and want the same one.
func TestRacingMachinesGetDifferentNumbers(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	lender := &zkworker.Lender{Client: connect(t, addr), Root: root}
	zero := acquire(t, lender)
	if err := lender.Release(t.Context(), zero, zero.From); err != nil {
		t.Fatal(err)
	}
	conn := plain(t, addr)
	for n := 1; n <= 32; n++ {
		data := fmt.Sprintf(`{"fence_ms":%d,"token":"T","holder":"","key":"k"}`, n)
		if _, err := conn.Create(fmt.Sprintf("%s/numbers/%04d", root, n), []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	var ledger idworkertest.Ledger
	var wg sync.WaitGroup
	for i := range 16 {
		k, _ := keyed(t, addr, root, filepath.Join(t.TempDir(), "reserve"))
		k.Key = fmt.Sprint("machine ", i)
		wg.Go(func() {
			g, err := k.Acquire(t.Context(), time.Minute)
			if err != nil {
				t.Errorf("acquire: %v", err)
				return
			}
			ledger.Lent(g)
		})
	}
	wg.Wait()
	if err := ledger.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestKeyedBeginsAtTheFence: of a number that another owner left far ahead.
func TestKeyedBeginsAtTheFence(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	c := connect(t, addr)
	left, err := (&zkworker.Lender{Client: c, Root: root}).Acquire(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil { // killed
		t.Fatal(err)
	}
	k, _ := keyed(t, addr, root, filepath.Join(t.TempDir(), "reserve"))
	k.Numbers = 1
	if g := acquire(t, k); g.Number != 0 || g.From.Before(left.Until) {
		t.Errorf("after %+v: %+v", left, g)
	}
}

// TestLostFileBurnsTheNumber until the reserve has passed; then the key has it
// back.
func TestLostFileBurnsTheNumber(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	dir := t.TempDir()
	k, end := keyed(t, addr, root, filepath.Join(dir, "lost"))
	g := acquire(t, k)
	fence := fenceOf(t, plain(t, addr), root, g.Number)
	end()
	k, end = keyed(t, addr, root, filepath.Join(dir, "new"))
	if next := acquire(t, k); next.Number == g.Number {
		t.Errorf("number %d was lent although its reserve lasts until %v", g.Number, fence)
	}
	end()
	lender := &zkworker.Lender{Client: connect(t, addr), Root: root}
	if next := acquire(t, lender); next.Number == g.Number {
		t.Errorf("number %d was lent although its reserve lasts until %v", g.Number, fence)
	}
	// An hour later: number 0, whose key received 1 last, is free for all.
	lender.Now = func() time.Time { return fence.Add(time.Second) }
	if next := acquire(t, lender); next.Number != g.Number || next.From.Before(fence) {
		t.Errorf("after the reserve: %+v, want number %d from %v", next, g.Number, fence)
	}
}

// TestKeyRemembersItsNumber: it has it again although its file is lost and a
// lower number is free, once the reserve has passed.
func TestKeyRemembersItsNumber(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	dir := t.TempDir()
	lender := &zkworker.Lender{Client: connect(t, addr), Root: root}
	zero := acquire(t, lender)
	k, end := keyed(t, addr, root, filepath.Join(dir, "lost"))
	g := acquire(t, k)
	end()
	if err := lender.Release(t.Context(), zero, zero.From); err != nil {
		t.Fatal(err)
	}
	k, _ = keyed(t, addr, root, filepath.Join(dir, "new"))
	k.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if next := acquire(t, k); g.Number != 1 || next.Number != 1 {
		t.Errorf("numbers %d and then %d, want 1", g.Number, next.Number)
	}
}

// TestOldCopyOfTheFileIsFoundOut: a file from a backup is not believed while
// ZooKeeper answers.
func TestOldCopyOfTheFileIsFoundOut(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	file := filepath.Join(t.TempDir(), "reserve")
	var ledger idworkertest.Ledger
	k, end := keyed(t, addr, root, file)
	ledger.Lent(acquire(t, k))
	end()
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	k, end = keyed(t, addr, root, file)
	g := acquire(t, k)
	if g, err = k.Extend(t.Context(), g, g.Until.Add(10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	ledger.Lent(g)
	end()
	if err := os.WriteFile(file, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	k, end = keyed(t, addr, root, file)
	ledger.Lent(acquire(t, k))
	end()
	if err := ledger.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestFileOfAnotherKeyIsNotUsed, even if ZooKeeper cannot say so.
func TestFileOfAnotherKeyIsNotUsed(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	file := filepath.Join(t.TempDir(), "reserve")
	k, end := keyed(t, addr, root, file)
	acquire(t, k)
	end()
	k, _ = keyed(t, "127.0.0.1:1", root, file)
	k.Key = "other"
	if g, err := k.Acquire(t.Context(), time.Second); !errors.Is(err, zkworker.ErrReserveUsed) {
		t.Errorf("lent %+v, %v, want ErrReserveUsed", g, err)
	}
}

// TestNoDamageLendsTwice tears and damages the file in every place, with
// ZooKeeper down: what was lent is never lent again.
func TestNoDamageLendsTwice(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	file := filepath.Join(t.TempDir(), "reserve")
	k, end := keyed(t, addr, root, file)
	old := acquire(t, k)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lent, err := k.Extend(t.Context(), old, old.Until.Add(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	end()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const second = 4096
	length := len(whole) - second
	check := func(what string, at int, lent time.Time, content []byte) {
		t.Helper()
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		var down zkworker.Client
		_ = down.Close() // fails at once
		k := &zkworker.Keyed{Client: &down, Root: root, Key: "10.0.0.7:8080", File: file}
		defer k.Close()
		k.Now = func() time.Time { return old.From }
		g, err := k.Acquire(t.Context(), time.Second)
		if err == nil && g.From.Before(lent) || err != nil && !errors.Is(err, zkworker.ErrClosed) {
			t.Errorf("%s at %d: lent from %v, and %v was reached before; error %v", what, at, g.From, lent, err)
		}
	}
	check("nothing", 0, lent.Until, whole)
	for n := range len(whole) {
		if n <= length || n >= second {
			check("cut", n, lent.Until, whole[:n])
		}
	}
	for n := range length {
		for _, at := range []int{n, second + n} {
			damaged := append([]byte(nil), whole...)
			damaged[at] ^= 1 << (n % 8)
			check("a bit flipped", at, lent.Until, damaged)
			// A write of the last record that stopped halfway: it was not
			// acknowledged, and the one before was.
			torn := append([]byte(nil), before...)
			copy(torn[:min(at, length)], whole)
			if at >= second {
				copy(torn[second:at], whole[second:])
			}
			check("torn", at, old.Until, torn)
		}
	}
	both := append([]byte(nil), whole...)
	both[30]++
	both[second+30]++
	check("both copies damaged", 30, lent.Until, both)
}

// TestUsedFarAheadGetsAnotherNumber: after the clock was set back, a number
// that needs no wait is better than one's own.
func TestUsedFarAheadGetsAnotherNumber(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	file := filepath.Join(t.TempDir(), "reserve")
	k, end := keyed(t, addr, root, file)
	g := acquire(t, k)
	if _, err := k.Extend(t.Context(), g, g.Until.Add(10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	end()
	k, _ = keyed(t, addr, root, file)
	if next := acquire(t, k); next.Number == g.Number || next.From.After(time.Now().Add(time.Minute)) {
		t.Errorf("got %+v after %+v", next, g)
	}
}

// fenceOf is what ZooKeeper has set aside.
func fenceOf(t testing.TB, conn *zk.Conn, root string, number int) time.Time {
	t.Helper()
	data, _, err := conn.Get(fmt.Sprintf("%s/numbers/%04d", root, number))
	if err != nil {
		t.Fatal(err)
	}
	var fence int64
	if _, err := fmt.Sscanf(string(data), `{"fence_ms":%d,`, &fence); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return time.UnixMilli(fence)
}
