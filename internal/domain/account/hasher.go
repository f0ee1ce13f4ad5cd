package account

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/flakepass/flakepass/internal/domain/account/foreignhash"
)

// A Hasher hashes passwords with Argon2id, a few at a time. Its memory is
// bounded: the hashes that run together use at most workers times
// Params.MemoryKiB; one stored with more memory than that, up to 256 MiB, runs
// alone. Its queue is bounded too, and shared out fairly: a login that would wait
// behind too many is refused at once.
type Hasher struct {
	params Params
	decoy  PHC
	// decoyFormat is the format of decoy. mix has the decoys of other formats.
	decoyFormat string
	mix         atomic.Pointer[mix]

	queue *queue
	size  int64 // of the memory for all, in KiB

	engine Engine
}

// NewHasher returns a Hasher that runs workers hashes at a time on e and lets queue more wait. A
// good number of workers is the number of CPUs. The last hash in a full queue waits for about
// queue/workers times the duration of a hash. NewHasher returns an error for parameters weaker than
// every setting of the OWASP Password Storage Cheat Sheet, or beyond what the Hasher agrees to
// verify.
func NewHasher(e Engine, p Params, workers, queue int) (*Hasher, error) {
	if err := p.checkMinimum(); err != nil {
		return nil, fmt.Errorf("account: hasher: %w", err)
	}
	return newHasher(e, p, workers, queue)
}

func newHasher(e Engine, p Params, workers, queue int) (*Hasher, error) {
	err := p.check()
	switch {
	case err != nil:
		return nil, fmt.Errorf("account: hasher: %w", err)
	case workers < 1 || workers > 1<<16 || queue < 0 || queue > 1<<16:
		return nil, fmt.Errorf("account: hasher: %d workers and a queue of %d, want 1 to 65536 and 0 to 65536", workers, queue)
	}
	size := int64(workers) * int64(p.MemoryKiB)
	return &Hasher{params: p, decoy: newDecoy(p), decoyFormat: formatOf(p), queue: newQueue(size, queue), size: size, engine: e}, nil
}

// newDecoy draws salt and key at random, which costs nothing: the result is a
// valid hash with the costs of a new one, and of no password.
func newDecoy(p Params) PHC {
	b := make([]byte, saltLength+keyLength)
	_, _ = rand.Read(b) // never fails
	return NewPHC(encode(p.argon2id(), b[:saltLength], b[saltLength:]))
}

// Hash hashes p with a new salt. It returns [ErrBusy] at once if the queue has no place
// for by, when another network takes its place, and after 5 s in the queue. If ctx ends in
// the queue, it returns ErrBusy together with the error of ctx. It does not ask whether p is
// a good password; [CheckPassword] does. A hash that has begun is not interrupted.
func (h *Hasher) Hash(ctx context.Context, by Asker, p Password) (PHC, error) {
	var phc string
	err := h.run(ctx, by, h.params.MemoryKiB, func() (err error) {
		phc, err = h.engine.Create(p.reveal(), h.params)
		return err
	})
	if err != nil {
		return PHC{}, fmt.Errorf("account: hash: %w", err)
	}
	return NewPHC(phc), nil
}

// Verify reports whether phc is a hash of p, in constant time, and, if it is,
// whether it should be replaced: because it is weaker than a new one, or comes from another
// system. An empty password never matches. It returns
// [ErrBadHash] for a malformed hash or one that asks for too much memory or
// time, without computing it, and [ErrBusy] as [Hasher.Hash] does.
func (h *Hasher) Verify(ctx context.Context, by Asker, p Password, phc PHC) (ok, rehash bool, err error) {
	s, err := h.read(phc)
	if err != nil {
		return false, false, fmt.Errorf("account: verify: %w", err)
	}
	err = h.run(ctx, by, s.kib, func() (err error) {
		ok, err = h.engine.Compare(p.spelled(s.foreign), phc.Reveal())
		return err
	})
	if err != nil {
		return false, false, fmt.Errorf("account: verify: %w", err)
	}
	// A system that accepts the empty password has accounts that anybody opens.
	ok = ok && p.reveal() != ""
	return ok, ok && s.weaker, nil
}

// A stored is a stored hash of a password, ours or that of another system, that is safe to
// compute.
type stored struct {
	format  string // the algorithm and its costs, as [foreignhash.Hash] has them
	kib     uint32
	foreign bool
	weaker  bool // than a new one
}

// read reads a stored hash, or fails with [ErrBadHash].
func (h *Hasher) read(phc PHC) (stored, error) {
	text := phc.Reveal()
	if !strings.HasPrefix(text, "$argon2id$") {
		foreign, err := foreignhash.Read(text)
		if err != nil {
			return stored{}, fmt.Errorf("%w: %w", ErrBadHash, err)
		}
		return stored{format: foreign.Format, kib: foreign.KiB, foreign: true, weaker: true}, nil
	}
	p, err := decode(text)
	if err != nil {
		return stored{}, fmt.Errorf("%w: %w", ErrBadHash, err)
	}
	return stored{
		format: formatOf(Params{p.Memory, p.Iterations, p.Parallelism}), kib: p.Memory,
		weaker: p.Memory < h.params.MemoryKiB || p.Iterations < h.params.Iterations || p.SaltLength < saltLength || p.KeyLength < keyLength,
	}, nil
}

// formatOf is what the text of each of our hashes of those costs begins with.
func formatOf(p Params) string {
	text := encode(p.argon2id(), nil, nil)
	return strings.TrimSuffix(text, "$")
}

// patience is how long a hash waits for its turn. A full queue takes about
// two seconds on a healthy machine. A login that has waited for longer is refused while
// its client still waits for the answer: the server gives up an answer after 15 s.
const patience = 5 * time.Second

// run calls f when it is the turn of by and the memory is free. Each hash uses at
// least the memory of a new one, so that no more run than there are workers.
func (h *Hasher) run(ctx context.Context, by Asker, kib uint32, f func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	weight := min(int64(max(kib, h.params.MemoryKiB)), h.size)
	turn, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := h.queue.acquire(turn, by, weight); err != nil {
		return err
	}
	defer h.queue.release(weight)
	return f()
}

// An Engine computes Argon2id (RFC 9106), and the hashes of other systems, for a
// [Hasher], which decides how many times at once. It sees passwords in the clear. An error that wraps [ErrBusy]
// means that it has not been computed, and that trying again later helps.
type Engine interface {
	// Create hashes password with a new salt at the costs of p, and returns the
	// hash in PHC form.
	Create(password string, p Params) (phc string, err error)
	// Compare reports whether phc is a hash of password, in constant time. The Hasher
	// has read it.
	Compare(password, phc string) (bool, error)
}

// Here is the [Engine] that computes in the calling goroutine.
type Here struct{}

// Create is [Engine.Create].
func (Here) Create(password string, p Params) (string, error) {
	phc, err := argon2id.CreateHash(password, p.argon2id())
	if err != nil {
		return "", fmt.Errorf("account: argon2id: %w", err)
	}
	return phc, nil
}

// Compare is [Engine.Compare].
func (Here) Compare(password, phc string) (bool, error) {
	if !strings.HasPrefix(phc, "$argon2id$") {
		foreign, err := foreignhash.Read(phc)
		if err != nil {
			return false, fmt.Errorf("account: compare: %w", err)
		}
		return foreign.Matches(password), nil
	}
	ok, err := argon2id.ComparePasswordAndHash(password, phc)
	if err != nil {
		return false, fmt.Errorf("account: argon2id: %w", err)
	}
	return ok, nil
}
