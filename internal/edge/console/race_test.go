//nolint:forbidigo // every sleep here is of a bubble's clock
package console_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Creating takes a second of the bubble's time, so every POST is on its way
// before the first has created.
func TestOneOfTwentyWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var attempts atomic.Int32
		w.onMake = func() { attempts.Add(1); time.Sleep(time.Second) }
		const n = 20
		codes := make(chan int, n)
		for i := range n {
			go func() { codes <- w.send("admin"+string(rune('a'+i)), passphrase).Code }()
		}
		got := map[int]int{}
		for range n {
			got[<-codes]++
		}
		if got[303] != 1 || got[410] != n-1 || w.admins() != 1 || attempts.Load() != 1 {
			t.Errorf("answers %v, %d admins, %d attempts; want one 303, 410 for the rest, one of each", got, w.admins(), attempts.Load())
		}
	})
}

func TestWaitingPostInheritsAfterAMistake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.onMake = func() { time.Sleep(time.Second) }
		first, second := make(chan int), make(chan int)
		go func() { first <- w.send("x", passphrase).Code }()
		synctest.Wait()
		go func() { second <- w.send("grace", passphrase).Code }()
		if a, b := <-first, <-second; a != 422 || b != 303 || w.admins() != 1 {
			t.Errorf("answers %d and %d, %d admins; want 422 and 303, one admin", a, b, w.admins())
		}
	})
}

func TestWrongCodeDoesNotQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.onMake = func() { time.Sleep(time.Minute) }
		done := make(chan struct{})
		go func() { w.send("grace", passphrase); close(done) }()
		synctest.Wait()
		start := time.Now()
		wantStatus(t, w.do(post("A"+w.code, "mallory", passphrase)), 404)
		if waited := time.Since(start); waited != 0 {
			t.Errorf("a wrong code waited %v of the bubble's time", waited)
		}
		<-done
	})
}

// A request that is closed while it waits does not create an admin later.
func TestClosedRequestLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.onMake = func() { time.Sleep(time.Minute) }
		first, second := make(chan int), make(chan time.Time)
		go func() { first <- w.send("x", passphrase).Code }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		go func() { w.do(post(w.code, "grace", passphrase).WithContext(ctx)); second <- time.Now() }()
		synctest.Wait()
		cancel()
		if left := <-second; !left.Equal(start) {
			t.Errorf("left after %v of the bubble's time", left.Sub(start))
		}
		if a := <-first; a != 422 || w.admins() != 0 {
			t.Errorf("answer %d, %d admins; want 422 and none", a, w.admins())
		}
		w.onMake = nil
		wantStatus(t, w.send("grace", passphrase), 303)
	})
}
