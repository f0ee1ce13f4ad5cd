package secondfactor

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/flakepass/flakepass/idworker"
)

// KeyLength is that of a key, in bytes: AES-256.
const KeyLength = 32

var (
	// ErrKeys means that the keys given are none that can be used.
	ErrKeys = errors.New("keys not usable")
	// ErrSealed means that a stored secret cannot be decrypted: its key is not
	// among those that are configured, or the row was damaged or is another
	// user's.
	ErrSealed = errors.New("stored secret cannot be decrypted")
)

// Keys encrypt secrets at rest with AES-256-GCM. The first one encrypts; all of
// them decrypt, so that a new one is put in front and the old one stays until
// nothing is encrypted under it. The zero Keys is none. Keys cannot print
// themselves.
type Keys struct{ all []*key }

type key struct {
	id   [4]byte // begins the SHA-256 of the key, and reveals nothing about it
	aead cipher.AEAD
}

// NewKeys takes keys of [KeyLength] bytes each. It returns [ErrKeys] for another
// length, and for a key that is there twice.
func NewKeys(keys ...[]byte) (Keys, error) {
	var all Keys
	for i, k := range keys {
		if len(k) != KeyLength {
			return Keys{}, fmt.Errorf("secondfactor: key %d has %d bytes, want %d: %w", i+1, len(k), KeyLength, ErrKeys)
		}
		block, err := aes.NewCipher(k)
		if err != nil {
			return Keys{}, fmt.Errorf("secondfactor: key %d: %w", i+1, err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return Keys{}, fmt.Errorf("secondfactor: key %d: %w", i+1, err)
		}
		one := &key{aead: aead}
		sum := sha256.Sum256(append([]byte("flakepass second factor key "), k...))
		copy(one.id[:], sum[:])
		if all.find(one.id) != nil {
			return Keys{}, fmt.Errorf("secondfactor: key %d is there twice: %w", i+1, ErrKeys)
		}
		all.all = append(all.all, one)
	}
	return all, nil
}

// None reports whether there is no key.
func (k Keys) None() bool { return len(k.all) == 0 }

// String says how many keys there are.
func (k Keys) String() string { return fmt.Sprintf("%d keys", len(k.all)) }

// Format is String under every verb of fmt.
func (k Keys) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// LogValue is String.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }

func (k Keys) find(id [4]byte) *key {
	for _, one := range k.all {
		if one.id == id {
			return one
		}
	}
	return nil
}

// What a text is encrypted for. A row's secret is of no use as a ticket, nor a
// ticket as a secret.
const (
	forSecret = "secret"
	forTicket = "ticket"
)

const sealVersion = 1

// seal encrypts a text for a user and a purpose: a byte of version, the ID of the
// key, the nonce, and what GCM makes. The nonce is random; 2^32 texts under one
// key are far away (NIST SP 800-38D section 8.3).
func (k Keys) seal(purpose string, user idworker.ID, text []byte) []byte {
	first := k.all[0]
	out := append([]byte{sealVersion}, first.id[:]...)
	nonce := make([]byte, first.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	out = append(out, nonce...)
	return first.aead.Seal(out, nonce, text, bound(purpose, user))
}

// open decrypts what seal made for the same user and purpose, or returns
// [ErrSealed].
func (k Keys) open(purpose string, user idworker.ID, sealed []byte) ([]byte, error) {
	if len(sealed) < 5 || sealed[0] != sealVersion {
		return nil, fmt.Errorf("secondfactor: open: %w: unknown form", ErrSealed)
	}
	id, rest := [4]byte(sealed[1:5]), sealed[5:]
	with := k.find(id)
	if with == nil {
		return nil, fmt.Errorf("secondfactor: open: %w: key %x is not in FLAKEPASS_SECOND_FACTOR_KEY", ErrSealed, id)
	}
	n := with.aead.NonceSize()
	if len(rest) < n {
		return nil, fmt.Errorf("secondfactor: open: %w: too short", ErrSealed)
	}
	text, err := with.aead.Open(nil, rest[:n], rest[n:], bound(purpose, user))
	if err != nil {
		return nil, fmt.Errorf("secondfactor: open: %w: it was changed, or is another user's", ErrSealed)
	}
	return text, nil
}

// bound is what is authenticated beside the text.
func bound(purpose string, user idworker.ID) []byte {
	return binary.BigEndian.AppendUint64([]byte(purpose+"\x00"), uint64(user))
}
