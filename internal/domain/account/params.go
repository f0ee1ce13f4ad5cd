package account

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"
)

// Params are the costs of Argon2id (RFC 9106).
type Params struct {
	MemoryKiB   uint32 // m: memory of one hash, in KiB
	Iterations  uint32 // t: passes over that memory
	Parallelism uint8  // p: lanes, and threads of one hash
}

// DefaultParams are the recommendation of the OWASP Password Storage Cheat
// Sheet: 19 MiB, two passes, one lane.
func DefaultParams() Params { return Params{MemoryKiB: 19456, Iterations: 2, Parallelism: 1} }

// What a hash may cost at most. The library computes whatever a stored hash
// asks for, and a process that cannot allocate the memory dies, so a single
// damaged row could take every instance down.
const (
	maxMemoryKiB   = 256 << 10
	maxIterations  = 16
	maxParallelism = 16
	maxPHC         = 512 // bytes of text

	saltLength = 16
	keyLength  = 32
)

// minMemoryKiB is what OWASP asks for at t = 1, 2, ... passes; the settings
// cost an attacker the same.
var minMemoryKiB = [...]uint32{1: 47104, 2: 19456, 3: 12288, 4: 9216, 5: 7168}

// check returns an error unless a hash of these costs is safe to compute.
func (p Params) check() error {
	switch {
	case p.Iterations < 1 || p.Iterations > maxIterations:
		return fmt.Errorf("iterations %d, want 1 to %d", p.Iterations, maxIterations)
	case p.Parallelism < 1 || p.Parallelism > maxParallelism:
		return fmt.Errorf("parallelism %d, want 1 to %d", p.Parallelism, maxParallelism)
	case p.MemoryKiB < 8*uint32(p.Parallelism) || p.MemoryKiB > maxMemoryKiB:
		return fmt.Errorf("memory %d KiB, want %d to %d", p.MemoryKiB, 8*uint32(p.Parallelism), maxMemoryKiB)
	}
	return nil
}

// checkMinimum returns an error unless p is at least as strong as one of the
// recommended settings.
func (p Params) checkMinimum() error {
	t := min(p.Iterations, uint32(len(minMemoryKiB)-1))
	if need := minMemoryKiB[t]; p.MemoryKiB < need {
		return fmt.Errorf("memory %d KiB with %d iterations, want at least %d KiB", p.MemoryKiB, p.Iterations, need)
	}
	return nil
}

func (p Params) argon2id() *argon2id.Params {
	return &argon2id.Params{
		Memory: p.MemoryKiB, Iterations: p.Iterations, Parallelism: p.Parallelism,
		SaltLength: saltLength, KeyLength: keyLength,
	}
}

// encode writes the PHC string.
func encode(p *argon2id.Params, salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		p.Memory, p.Iterations, p.Parallelism, b64.EncodeToString(salt), b64.EncodeToString(key))
}

// decode reads the costs of a stored hash, and returns an error unless it is
// safe to compute. The library scans loosely (a suffix after p=1, line breaks
// within the base64), and takes an empty key, which every password matches; so
// the text must also be exactly what encode would write.
func decode(phc string) (*argon2id.Params, error) {
	if len(phc) > maxPHC {
		return nil, errors.New("too long")
	}
	p, salt, key, err := argon2id.DecodeHash(phc)
	if err != nil {
		return nil, errors.New("not an argon2id hash") // the library's error quotes the text
	}
	if encode(p, salt, key) != phc {
		return nil, errors.New("not in canonical form")
	}
	if len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 {
		return nil, fmt.Errorf("salt of %d bytes and key of %d, want 8 to 64 and 16 to 64", len(salt), len(key))
	}
	return p, Params{p.Memory, p.Iterations, p.Parallelism}.check()
}
