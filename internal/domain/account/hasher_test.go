package account_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/account/foreignhash"
)

func TestHasherRefusesWeakAndHugeParameters(t *testing.T) {
	for _, c := range []struct {
		m, t uint32
		p    uint8
		ok   bool
	}{
		{19456, 2, 1, true}, {47104, 1, 1, true}, {12288, 3, 1, true}, {9216, 4, 1, true}, {7168, 5, 1, true}, {7168, 9, 1, true},
		{65536, 3, 4, true}, {262144, 1, 1, true},
		{19455, 2, 1, false}, {19456, 1, 1, false}, {47103, 1, 1, false}, {7167, 9, 1, false}, {64, 1, 1, false},
		{0, 0, 0, false}, {19456, 0, 1, false}, {19456, 2, 0, false}, {262145, 2, 1, false}, {19456, 17, 1, false}, {19456, 2, 17, false},
	} {
		_, err := account.NewHasher(account.Here{}, account.Params{MemoryKiB: c.m, Iterations: c.t, Parallelism: c.p}, 1, 1)
		if (err == nil) != c.ok {
			t.Errorf("m=%d t=%d p=%d: %v, want ok %v", c.m, c.t, c.p, err, c.ok)
		}
	}
	for _, size := range [][2]int{{0, 1}, {-1, 1}, {1, -1}, {1 << 40, 1}} {
		if _, err := account.NewHasher(account.Here{}, account.DefaultParams(), size[0], size[1]); err == nil {
			t.Errorf("%d workers, queue of %d: accepted", size[0], size[1])
		}
	}
}

func TestDefaultHashIsOWASP(t *testing.T) {
	h, err := account.NewHasher(account.Here{}, account.DefaultParams(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := account.NewPassword("brave tin goats")
	phc, err := h.Hash(t.Context(), account.Asker{}, p)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(phc.Reveal(), "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %s", phc.Reveal())
	}
	if ok, rehash, err := h.Verify(t.Context(), account.Asker{}, p, phc); !ok || rehash || err != nil {
		t.Errorf("Verify = %v, %v, %v, want true, false, nil", ok, rehash, err)
	}
}

func TestWholePasswordIsVerified(t *testing.T) {
	h := account.NewCheapHasher(t, account.CheapParams, 4, 1000)
	long := strings.Repeat("brave tin goats ", 13) // 208 bytes
	for _, base := range []string{"brave tin goats", long, strings.Repeat("é", 256), "x\x00y"} {
		phc, err := h.Hash(t.Context(), account.Asker{}, account.NewPassword(base))
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{base + "x", base + " ", " " + base, strings.ToUpper(base), base[:len(base)-2], base + "\x00", long[:200] + "other", ""} {
			if other == base {
				continue
			}
			if ok, _, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword(other), phc); ok || err != nil {
				t.Errorf("%.20q opens %.20q: %v, %v", other, base, ok, err)
			}
		}
		if ok, _, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword(base), phc); !ok || err != nil {
			t.Errorf("%.20q does not open itself: %v", base, err)
		}
	}
}

func TestSpellingsOfOnePasswordAreEqual(t *testing.T) {
	h := account.NewCheapHasher(t, account.CheapParams, 4, 1000)
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"caf\u00e9 au lait \u00e0 10", "cafe\u0301 au lait a\u0300 10", true},
		{"\u1ec7 in the north", "e\u0302\u0323 in the north", true},
		{"\uac00\uac01 in the south", "\u1100\u1161\u1100\u1161\u11a8 in the south", true},
		{"\u2460 one in a circle", "1 one in a circle", false}, // NFKC would make them one
		{"\uff41 full width", "a full width", false},
		{"\ufb00 ligature", "ff ligature", false},
	} {
		phc, err := h.Hash(t.Context(), account.Asker{}, account.NewPassword(c.a))
		if err != nil {
			t.Fatal(err)
		}
		if ok, _, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword(c.b), phc); ok != c.same || err != nil {
			t.Errorf("%+q opens %+q: %v, %v, want %v", c.b, c.a, ok, err, c.same)
		}
	}
}

func TestHashesAreSalted(t *testing.T) {
	h := account.NewCheapHasher(t, account.CheapParams, 4, 1000)
	p := account.NewPassword("brave tin goats")
	a, errA := h.Hash(t.Context(), account.Asker{}, p)
	b, errB := h.Hash(t.Context(), account.Asker{}, p)
	if errA != nil || errB != nil || a.Equal(b) {
		t.Errorf("two hashes are the same: %v, %v", errA, errB)
	}
}

func TestRehashWhenParametersRise(t *testing.T) {
	p := account.NewPassword("brave tin goats")
	for _, c := range []struct {
		stored, now account.Params
		want        bool
	}{
		{account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}, account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}, false},
		{account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}, account.Params{MemoryKiB: 65, Iterations: 1, Parallelism: 1}, true},
		{account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}, account.Params{MemoryKiB: 64, Iterations: 2, Parallelism: 1}, true},
		{account.Params{MemoryKiB: 64, Iterations: 2, Parallelism: 1}, account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}, false},
		{account.Params{MemoryKiB: 128, Iterations: 2, Parallelism: 2}, account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}, false},
	} {
		phc, err := account.NewCheapHasher(t, c.stored, 1, 0).Hash(t.Context(), account.Asker{}, p)
		if err != nil {
			t.Fatal(err)
		}
		h := account.NewCheapHasher(t, c.now, 1, 0)
		if ok, rehash, err := h.Verify(t.Context(), account.Asker{}, p, phc); !ok || rehash != c.want || err != nil {
			t.Errorf("stored %+v, now %+v: %v, %v, %v, want rehash %v", c.stored, c.now, ok, rehash, err, c.want)
		}
		if ok, rehash, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword("another"), phc); ok || rehash || err != nil {
			t.Errorf("wrong password: %v, %v, %v, want no rehash", ok, rehash, err)
		}
	}
}

func TestDecoyIsAHashOfTodaysCost(t *testing.T) {
	h := account.NewCheapHasher(t, account.Params{MemoryKiB: 96, Iterations: 3, Parallelism: 2}, 1, 0)
	decoy, _, _, err := argon2id.DecodeHash(h.DecoyHash().Reveal())
	if err != nil {
		t.Fatal(err)
	}
	made, err := h.Hash(t.Context(), account.Asker{}, account.NewPassword("brave tin goats"))
	if err != nil {
		t.Fatal(err)
	}
	want, _, _, err := argon2id.DecodeHash(made.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if *decoy != *want {
		t.Errorf("decoy costs %+v, a hash %+v", *decoy, *want)
	}
	if len(h.DecoyHash().Reveal()) != len(made.Reveal()) {
		t.Error("decoy and hash differ in length")
	}
	var compared []string
	h.Observe(true, func(phc string) { compared = append(compared, phc) })
	if err := h.Decoy(t.Context(), account.Asker{}, "nobody", account.NewPassword("x")); err != nil || len(compared) != 1 || compared[0] != h.DecoyHash().Reveal() {
		t.Errorf("Decoy: %v, compared with %v", err, compared)
	}
}

const (
	b64salt = "c29tZXNhbHRzb21lc2FsdA"
	b64key  = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
)

func TestUnusableHashIsAnErrorBeforeItIsComputed(t *testing.T) {
	h := account.NewCheapHasher(t, account.CheapParams, 4, 1000)
	h.Observe(true, func(phc string) { t.Errorf("computed %.80q", phc) })
	for _, phc := range []string{
		"", "x", "$", "$$$$$", "password", "$2a$10$abcdefghijklmnopqrstuv",
		"$argon2id$v=19$m=4294967295,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=262145,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=64,t=4294967295,p=1$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=64,t=0,p=1$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=64,t=1,p=0$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=64,t=1,p=255$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=64,t=1,p=256$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=64,t=1,p=9$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=0,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=-64,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2id$v=16$m=64,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2i$v=16$m=64,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2i$v=19$m=262145,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2d$v=19$m=64,t=1,p=1$" + b64salt + "$" + b64key,
		"$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
		"$pbkdf2-sha256$2000001$" + b64salt + "$" + b64key,
		"$scrypt$ln=20,r=32,p=16$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=64,t=1,p=1x$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=064,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=64,t=1,p=1$" + b64salt + "$", // an empty key, which every password matches
		"$argon2id$v=19$m=64,t=1,p=1$" + b64salt + "$AAAA",
		"$argon2id$v=19$m=64,t=1,p=1$$" + b64key,
		"$argon2id$v=19$m=64,t=1,p=1$" + b64salt + "$" + b64key + "\n",
		"$argon2id$v=19$m=64,t=1,p=1$" + b64salt + "$" + strings.Repeat("A", 88),
		"$argon2id$v=19$m=64,t=1,p=1$" + b64salt + "$" + strings.Repeat("A", 1<<20),
	} {
		ok, rehash, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword("x"), account.NewPHC(phc))
		if ok || rehash || !errors.Is(err, account.ErrBadHash) {
			t.Errorf("%.80q: %v, %v, %v, want ErrBadHash", phc, ok, rehash, err)
		}
		if err != nil && strings.Contains(err.Error(), b64key) {
			t.Errorf("the error quotes the hash: %v", err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	h, err := account.NewHasher(account.Here{}, account.DefaultParams(), 1, 0)
	if err != nil {
		f.Fatal(err)
	}
	var computed *argon2id.Params
	foreign := false
	h.Observe(false, func(phc string) {
		computed, _, _, _ = argon2id.DecodeHash(phc)
		_, err := foreignhash.Read(phc)
		foreign = err == nil
	})
	for _, s := range []string{h.DecoyHash().Reveal(), "", "$argon2id$v=19$m=64,t=1,p=1$" + b64salt + "$" + b64key,
		"$argon2id$v=19$m=4294967295,t=1,p=1$" + b64salt + "$" + b64key, "$argon2id$v=19$m=64,t=0,p=0$$", "$$$$$$",
		"$2b$04$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "$pbkdf2-sha256$1000$" + b64salt + "$" + b64key,
		"$over-md5$before$c2FsdA$argon2id$v=19$m=64,t=1,p=1$" + b64salt + "$" + b64key} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		computed, foreign = nil, false
		ok, _, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword("brave tin goats"), account.NewPHC(s))
		if ok || err != nil && !errors.Is(err, account.ErrBadHash) {
			t.Errorf("%q: %v, %v", s, ok, err)
		}
		if (err == nil) != (computed != nil || foreign) {
			t.Errorf("%q: error %v, computed %v", s, err, computed)
		}
		if p := computed; p != nil && (p.Memory > 256<<10 || p.Memory < 8 || p.Iterations < 1 || p.Iterations > 16 ||
			p.Parallelism < 1 || p.Parallelism > 16 || p.KeyLength < 16) {
			t.Errorf("%q would be computed at %+v", s, *p)
		}
	})
}

// blocked is a Hasher whose hashes wait for release, and count themselves.
func blocked(t *testing.T, workers, queue int) (h *account.Hasher, running *atomic.Int32, release chan struct{}) {
	h = account.NewCheapHasher(t, account.CheapParams, workers, queue)
	running, release = new(atomic.Int32), make(chan struct{})
	h.Observe(false, func(string) {
		running.Add(1)
		<-release
		running.Add(-1)
	})
	return h, running, release
}

func TestFullQueueIsBusyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, running, release := blocked(t, 1, 1)
		p := account.NewPassword("brave tin goats")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := h.Hash(t.Context(), account.Asker{}, p); err != nil {
					t.Errorf("Hash in the queue: %v", err)
				}
			})
		}
		synctest.Wait()
		if n := running.Load(); n != 1 {
			t.Errorf("%d hashes run, want 1", n)
		}
		// Were one of these to wait, the bubble would report a deadlock.
		if _, err := h.Hash(t.Context(), account.Asker{}, p); !errors.Is(err, account.ErrBusy) {
			t.Errorf("Hash: %v, want ErrBusy", err)
		}
		if _, _, err := h.Verify(t.Context(), account.Asker{}, p, h.DecoyHash()); !errors.Is(err, account.ErrBusy) {
			t.Errorf("Verify: %v, want ErrBusy", err)
		}
		if err := h.Decoy(t.Context(), account.Asker{}, "nobody", p); !errors.Is(err, account.ErrBusy) {
			t.Errorf("Decoy: %v, want ErrBusy", err)
		}
		close(release)
		wg.Wait()
		if _, err := h.Hash(t.Context(), account.Asker{}, p); err != nil {
			t.Errorf("Hash afterwards: %v", err)
		}
	})
}

func TestLeavingTheQueueFreesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, release := blocked(t, 1, 1)
		p := account.NewPassword("brave tin goats")
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = h.Hash(t.Context(), account.Asker{}, p) })
		synctest.Wait()
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() { _, err := h.Hash(ctx, account.Asker{}, p); left <- err }()
			synctest.Wait()
			cancel()
			if err := <-left; !errors.Is(err, account.ErrBusy) || !errors.Is(err, context.Canceled) {
				t.Errorf("left the queue with %v, want ErrBusy and Canceled", err)
			}
		}
		wg.Go(func() {
			if _, err := h.Hash(t.Context(), account.Asker{}, p); err != nil {
				t.Errorf("Hash in the slot that was left: %v", err)
			}
		})
		synctest.Wait()
		close(release)
		wg.Wait()
	})
}

// A caller that has waited for 5 s gets ErrBusy, early enough to answer its client.
func TestLongWaitIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, release := blocked(t, 1, 1)
		p := account.NewPassword("brave tin goats")
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := h.Hash(t.Context(), account.Asker{}, p); err != nil {
				t.Errorf("a hash that has begun: %v", err)
			}
		})
		synctest.Wait()
		begin := time.Now()
		if _, err := h.Hash(t.Context(), account.Asker{}, p); !errors.Is(err, account.ErrBusy) {
			t.Errorf("behind it: %v, want ErrBusy", err)
		}
		if waited := time.Since(begin); waited != 5*time.Second {
			t.Errorf("refused after %v, want 5s", waited)
		}
		close(release)
		wg.Wait()
	})
}

func TestEndedContextHashesNothing(t *testing.T) {
	h := account.NewCheapHasher(t, account.CheapParams, 4, 1000)
	h.Observe(true, func(string) { t.Error("hashed") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Hash(ctx, account.Asker{}, account.NewPassword("x")); !errors.Is(err, context.Canceled) || !errors.Is(err, account.ErrBusy) {
		t.Errorf("Hash: %v", err)
	}
}

// A stored hash of more memory than the pool has runs alone; all others share
// what the pool has.
func TestMemoryIsBounded(t *testing.T) {
	const workers = 3
	heavy, err := account.NewCheapHasher(t, account.Params{MemoryKiB: 1024, Iterations: 1, Parallelism: 1}, 1, 0).
		Hash(t.Context(), account.Asker{}, account.NewPassword("brave tin goats"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var kib, most, alone atomic.Int64
		step := make(chan struct{})
		h := account.NewCheapHasher(t, account.CheapParams, workers, 200)
		h.Observe(false, func(phc string) {
			mine := int64(64)
			if phc == heavy.Reveal() {
				mine = 1024
			}
			now := kib.Add(mine)
			switch {
			case mine == 64 && now > most.Load():
				most.Store(now)
			case mine == 1024:
				alone.Store(max(alone.Load(), now))
			}
			<-step
			kib.Add(-mine)
		})
		var wg sync.WaitGroup
		for i := range 40 {
			phc := h.DecoyHash()
			if i%7 == 3 {
				phc = heavy
			}
			wg.Go(func() {
				if _, _, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword("x"), phc); err != nil {
					t.Error(err)
				}
			})
		}
		for range 40 {
			synctest.Wait()
			step <- struct{}{}
		}
		wg.Wait()
		if most.Load() != workers*64 || alone.Load() != 1024 {
			t.Errorf("light hashes together used %d KiB and a heavy one ran among %d, want %d and 1024", most.Load(), alone.Load(), workers*64)
		}
	})
}

func TestPanicFreesTheSlot(t *testing.T) {
	h := account.NewCheapHasher(t, account.CheapParams, 1, 0)
	fail := true
	h.Observe(true, func(string) {
		if fail {
			panic("out of luck")
		}
	})
	func() {
		defer func() { _ = recover() }()
		_, _ = h.Hash(t.Context(), account.Asker{}, account.NewPassword("x"))
	}()
	fail = false
	if _, err := h.Hash(t.Context(), account.Asker{}, account.NewPassword("x")); err != nil {
		t.Errorf("Hash after a panic: %v", err)
	}
}

func BenchmarkHash(b *testing.B) {
	h, err := account.NewHasher(account.Here{}, account.DefaultParams(), 64, 64)
	if err != nil {
		b.Fatal(err)
	}
	p := account.NewPassword("correct horse battery staple")
	b.Run("pool", func(b *testing.B) {
		for b.Loop() {
			_, _ = h.Hash(b.Context(), account.Asker{}, p)
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			_, _ = argon2id.CreateHash(p.Text(), &argon2id.Params{Memory: 19456, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32})
		}
	})
}
