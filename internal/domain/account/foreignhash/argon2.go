package foreignhash

import (
	"crypto/md5"  //nolint:gosec // within Argon2id only
	"crypto/sha1" //nolint:gosec // within Argon2id only
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Bounds of Argon2, which are those of our own hashes.
const (
	maxArgonKiB   = 256 << 10
	maxArgonTime  = 16
	maxArgonLanes = 16
)

type argon struct {
	costs     string // v=19$m=65536,t=3,p=4
	kib, time uint32
	lanes     uint8
	salt, key []byte
}

// argonOf reads v=19$m=65536,t=3,p=4$salt$key.
func argonOf(rest string) (argon, error) {
	part := strings.Split(rest, "$")
	if len(part) != 4 || part[0] != "v=19" {
		return argon{}, ErrForm
	}
	m, t, p, err := costs(part[1], [3]cost{{"m=", maxArgonKiB}, {"t=", maxArgonTime}, {"p=", maxArgonLanes}})
	if err != nil {
		return argon{}, err
	}
	if m < 8*p {
		return argon{}, fmt.Errorf("%w: %d KiB for %d lanes", ErrCost, m, p)
	}
	a := argon{costs: part[0] + "$" + part[1], kib: uint32(m), time: uint32(t), lanes: uint8(p)}
	a.salt, a.key, err = saltAndKey(raw64, part[2], part[3], 8, maxKey)
	return a, err
}

func readArgon2i(prefix, rest string) (Hash, error) {
	a, err := argonOf(rest)
	if err != nil {
		return Hash{}, err
	}
	return Hash{Format: prefix + a.costs + "$", KiB: a.kib, matches: func(password string) bool {
		return equal(argon2.Key([]byte(password), a.salt, a.time, a.kib, a.lanes, uint32(len(a.key))), a.key)
	}}, nil
}

// matchesID reports whether a, of Argon2id, is of that text.
func (a argon) matchesID(text string) bool {
	return equal(argon2.IDKey([]byte(text), a.salt, a.time, a.kib, a.lanes, uint32(len(a.key))), a.key)
}

// A Digest is one round of a hash over a password and a salt, as old systems have kept
// it. It is guessed at a billion a second, so it is never kept: [Digest.Keep] puts it
// into Argon2id.
type Digest struct {
	name  string // md5, sha1 or sha256
	after bool   // the salt is behind the password
	salt  []byte
	sum   []byte
}

var digests = map[string]func([]byte) []byte{
	"md5":    func(b []byte) []byte { s := md5.Sum(b); return s[:] },  //nolint:gosec // as above
	"sha1":   func(b []byte) []byte { s := sha1.Sum(b); return s[:] }, //nolint:gosec // as above
	"sha256": func(b []byte) []byte { s := sha256.Sum256(b); return s[:] },
}

// String hides the digest.
func (Digest) String() string { return "[redacted]" }

// Secret is what stands for the password in Argon2id.
func (d Digest) Secret() string { return hex.EncodeToString(d.sum) }

// Keep is the kept text of a digest; phc is Argon2id of its Secret.
func (d Digest) Keep(phc string) (string, error) { return kept(d.begin() + phc) }

// HeldBy reports whether a kept text is of this digest. It computes Argon2id.
func (d Digest) HeldBy(text string) bool {
	rest, ok := strings.CutPrefix(text, d.begin()+argon2id)
	if !ok {
		return false
	}
	a, err := argonOf(rest)
	return err == nil && a.matchesID(d.Secret())
}

const argon2id = "$argon2id$"

func (d Digest) begin() string {
	where := "before"
	if d.after {
		where = "after"
	}
	return "$over-" + d.name + "$" + where + "$" + raw64.EncodeToString(d.salt)
}

// readOver reads before$salt$argon2id$..., where the salt is before the password.
func readOver(prefix, rest string) (Hash, error) {
	part := strings.SplitN(rest, "$", 3)
	if len(part) != 3 || part[0] != "before" && part[0] != "after" {
		return Hash{}, ErrForm
	}
	salt, err := decode(raw64, part[1], 0, maxSalt)
	if err != nil {
		return Hash{}, err
	}
	costs, ok := strings.CutPrefix("$"+part[2], argon2id)
	if !ok {
		return Hash{}, ErrForm
	}
	a, err := argonOf(costs)
	if err != nil {
		return Hash{}, err
	}
	d := Digest{name: strings.TrimSuffix(strings.TrimPrefix(prefix, "$over-"), "$"), after: part[0] == "after", salt: salt}
	return Hash{Format: argon2id + a.costs + "$", KiB: a.kib, matches: func(password string) bool {
		return a.matchesID(d.of(password).Secret())
	}}, nil
}

// of is the digest of a password.
func (d Digest) of(password string) Digest {
	text := append(append([]byte{}, d.salt...), password...)
	if d.after {
		text = append([]byte(password), d.salt...)
	}
	d.sum = digests[d.name](text)
	return d
}
