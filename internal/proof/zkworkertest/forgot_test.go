//go:build unix

package zkworkertest

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
	"github.com/flakepass/flakepass/idworker/zkworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// losses are the ways in which ZooKeeper loses its data: the first prepares
// one, as soon as something has been lent, and what it returns is done between
// Kill and Start.
var losses = map[string]func(z *testenv.ZooKeeperServer) (lose func()){
	"empty": func(z *testenv.ZooKeeperServer) func() { return z.Forget },
	"older": func(z *testenv.ZooKeeperServer) func() {
		z.Kill()
		restore := z.Backup()
		z.Start()
		return restore
	},
}

// TestWorkersGoOnAfterZooKeeperHasLostItsData: two that run get numbers again
// by themselves, and mint no ID twice.
func TestWorkersGoOnAfterZooKeeperHasLostItsData(t *testing.T) {
	t.Parallel()
	for name, prepare := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := testenv.OwnZooKeeper(t)
			var workers []*idworker.Worker
			all := seen{}
			next := func(w *idworker.Worker) error {
				id, err := w.Next(t.Context())
				if err == nil {
					all.add(t, id)
				}
				return err
			}
			for range 2 {
				w, err := idworker.Open(t.Context(), &zkworker.Lender{Client: connect(t, z.Addr), Root: "/w", Numbers: 2}, idworker.Options{})
				if err != nil {
					t.Fatal(err)
				}
				workers = append(workers, w)
			}
			lose := prepare(z)
			conn := plain(t, z.Addr)
			for _, w := range workers { // lent more than a backup knows
				before := fenceOf(t, conn, "/w", w.Number())
				testenv.Eventually(t, patience, func() bool {
					return next(w) == nil && fenceOf(t, conn, "/w", w.Number()).After(before)
				}, "a longer range")
			}
			z.Kill()
			lose()
			z.Start()
			testenv.Eventually(t, patience, func() bool { return next(workers[0]) == nil && next(workers[1]) == nil }, "both mint again")
			for range 5000 {
				for _, w := range workers {
					if err := next(w); err != nil {
						t.Fatal(err)
					}
				}
			}
			if workers[0].Number() == workers[1].Number() {
				t.Errorf("both have number %d", workers[0].Number())
			}
		})
	}
}

// TestNoNumberIsTakenAtOnceFromAZooKeeperThatForgot: what it had lent to others
// may be in use. After that the process remembers what was lent to itself,
// though its clock be set back.
func TestNoNumberIsTakenAtOnceFromAZooKeeperThatForgot(t *testing.T) {
	t.Parallel()
	for name, prepare := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := testenv.OwnZooKeeper(t)
			calm := &zkworker.Lender{Client: connect(t, z.Addr), Root: "/w"}
			calm.Client.Calm = time.Hour
			hasty := &zkworker.Lender{Client: connect(t, z.Addr), Root: "/w", Numbers: 1}
			hasty.Client.Calm = time.Nanosecond
			lenders := []*zkworker.Lender{hasty, calm}
			grants := []idworker.Grant{acquire(t, hasty), acquire(t, calm)}
			lose := prepare(z)
			var ledger idworkertest.Ledger
			for i, l := range lenders {
				testenv.Eventually(t, patience, func() bool {
					longer, err := l.Extend(t.Context(), grants[i], grants[i].Until.Add(time.Second))
					if err == nil {
						grants[i] = longer
					}
					return err == nil
				}, "more than a backup knows")
				ledger.Lent(grants[i])
			}
			idle := &zkworker.Lender{Client: connect(t, z.Addr), Root: "/idle"}
			idle.Client.Calm = time.Hour
			if g := acquire(t, idle); idle.Release(t.Context(), g, g.From) != nil {
				t.Fatal("not released")
			}
			z.Kill()
			lose()
			z.Start()
			testenv.Eventually(t, patience, func() bool {
				g, err := idle.Acquire(t.Context(), time.Second)
				if err == nil {
					t.Fatalf("one that has no number now was lent %+v", g)
				}
				return errors.Is(err, zkworker.ErrForgotten)
			}, "being refused a session shows the loss as well")
			for range 2 { // the second time it is no news
				for i, l := range lenders {
					testenv.Eventually(t, patience, func() bool {
						longer, err := l.Extend(t.Context(), grants[i], grants[i].Until.Add(time.Minute))
						if err == nil { // the token is in the backup, which proves nothing
							t.Fatalf("extended: %+v", longer)
						}
						return errors.Is(err, idworker.ErrLost)
					}, "the number is lost")
				}
				if g, err := calm.Acquire(t.Context(), time.Second); !errors.Is(err, zkworker.ErrForgotten) {
					t.Errorf("got %+v, %v, want ErrForgotten", g, err)
				}
			}
			hasty.Now = func() time.Time { return grants[0].From }
			var g idworker.Grant
			testenv.Eventually(t, patience, func() (ok bool) {
				var err error
				g, err = hasty.Acquire(t.Context(), time.Second)
				return err == nil // at once, or when the session in the backup has ended
			}, "the number is free")
			ledger.Lent(g)
			if err := ledger.Overlap(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForgottenNumberIsGivenUp: a session goes on in a ZooKeeper that was restored from a backup, and its
// claim with it. Others get the number all the same, beyond all that was lent.
func TestForgottenNumberIsGivenUp(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	l := &zkworker.Lender{Client: connect(t, addr), Root: root, Numbers: 1}
	g := acquire(t, l)
	conn := plain(t, addr)
	backup, _, err := conn.Get(root + "/numbers/0000")
	if err != nil {
		t.Fatal(err)
	}
	if g, err = l.Extend(t.Context(), g, g.Until.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Set(root+"/numbers/0000", backup, -1); err != nil {
		t.Fatal(err)
	}
	if longer, err := l.Extend(t.Context(), g, g.Until.Add(time.Minute)); !errors.Is(err, idworker.ErrLost) {
		t.Fatalf("extended: %+v, %v", longer, err)
	}
	next := acquire(t, &zkworker.Lender{Client: connect(t, addr), Root: root, Numbers: 1})
	if next.From.Before(g.Until) {
		t.Errorf("lent from %v on, and the owner before had it until %v", next.From, g.Until)
	}
	if longer, err := l.Extend(t.Context(), g, g.Until.Add(time.Minute)); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("extended once more: %+v, %v", longer, err)
	}
}

// TestReserveOutlivesTheDataOfZooKeeper: processes with a reserve go on with
// their numbers, and write them down again unasked, before others take them.
func TestReserveOutlivesTheDataOfZooKeeper(t *testing.T) {
	t.Parallel()
	for name, prepare := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := testenv.OwnZooKeeper(t)
			files := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
			var ledger idworkertest.Ledger
			var lenders []*zkworker.Keyed
			var grants []idworker.Grant
			start := func() (end func()) {
				var ends []func()
				lenders, grants = nil, nil
				for _, file := range files {
					k, end := keyed(t, z.Addr, "/w", file)
					g := acquire(t, k)
					ledger.Lent(g)
					lenders, grants, ends = append(lenders, k), append(grants, g), append(ends, end)
				}
				return func() { ends[0](); ends[1]() }
			}
			end := start()
			lose := prepare(z)
			end()
			start() // with tokens that a backup does not have
			conn := plain(t, z.Addr)
			fences := []time.Time{fenceOf(t, conn, "/w", 0), fenceOf(t, conn, "/w", 1)}
			z.Kill()
			lose()
			z.Start()
			conn = plain(t, z.Addr)
			for i, k := range lenders {
				testenv.Eventually(t, patience, func() bool {
					longer, err := k.Extend(t.Context(), grants[i], grants[i].Until.Add(time.Millisecond))
					if err != nil {
						t.Fatalf("with a reserve: %v", err)
					}
					grants[i] = longer
					ok, _, err := conn.Exists(fmt.Sprintf("/w/numbers/%04d", i))
					return ok && err == nil && !fenceOf(t, conn, "/w", i).Before(fences[i])
				}, "the number and its fence are there again")
			}
			ledger.Lent(acquire(t, &zkworker.Lender{Client: connect(t, z.Addr), Root: "/w"}))
			for i, k := range lenders {
				longer, err := k.Extend(t.Context(), grants[i], fences[i].Add(time.Minute))
				if err != nil || longer.Number != i {
					t.Fatalf("beyond the reserve: %+v, %v", longer, err)
				}
				ledger.Lent(longer)
			}
			if err := ledger.Overlap(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReserveWhoseNumberIsTakenIsGivenUp: who starts after the loss cannot know
// whose number it takes. Whose it was stops as soon as it sees that.
func TestReserveWhoseNumberIsTakenIsGivenUp(t *testing.T) {
	t.Parallel()
	z := testenv.OwnZooKeeper(t)
	relay := newRelay(t, z.Addr)
	k, _ := keyed(t, relay.addr, "/w", filepath.Join(t.TempDir(), "reserve"))
	k.Client.Calm = time.Hour
	g := acquire(t, k)
	relay.Cut(true)
	z.Kill()
	z.Forget()
	z.Start()
	taken := acquire(t, &zkworker.Lender{Client: connect(t, z.Addr), Root: "/w"})
	if taken.Number != g.Number {
		t.Fatalf("a newcomer has number %d", taken.Number)
	}
	relay.Cut(false)
	testenv.Eventually(t, patience, func() bool {
		_, err := k.Extend(t.Context(), g, g.Until)
		return errors.Is(err, idworker.ErrLost)
	}, "the reserve is given up")
	if next, err := k.Acquire(t.Context(), time.Second); !errors.Is(err, zkworker.ErrForgotten) {
		t.Errorf("got %+v, %v, want ErrForgotten", next, err)
	}
}

// TestReserveThatIsAnotherKeysShowsALoss: a later fence does not hide it.
func TestReserveThatIsAnotherKeysShowsALoss(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	k, _ := keyed(t, addr, root, filepath.Join(t.TempDir(), "reserve"))
	k.Client.Calm = time.Hour
	g := acquire(t, k)
	conn := plain(t, addr)
	fence := fenceOf(t, conn, root, g.Number).Add(time.Hour)
	other := fmt.Sprintf(`{"fence_ms":%d,"token":"T","holder":"","key":"other"}`, fence.UnixMilli())
	if _, err := conn.Set(fmt.Sprintf("%s/numbers/%04d", root, g.Number), []byte(other), -1); err != nil {
		t.Fatal(err)
	}
	if longer, err := k.Extend(t.Context(), g, fence); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("got %+v, %v, want ErrLost", longer, err)
	}
	if next, err := k.Acquire(t.Context(), time.Second); !errors.Is(err, zkworker.ErrForgotten) {
		t.Errorf("got %+v, %v, want ErrForgotten", next, err)
	}
}
