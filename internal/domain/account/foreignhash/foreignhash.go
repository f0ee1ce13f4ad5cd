// Package foreignhash reads password hashes that other systems have made, and compares
// passwords with them. It makes none: a password that was right is hashed anew by its
// caller, so that a foreign hash lives until the first login.
//
// Each algorithm has one form in which it is kept; [ReadImported] turns what other
// systems write into it. So a login reads few forms, and each of them strictly: a text
// is read only if it is exactly what this package would write, and only if computing it
// is safe. Nothing here prints a hash, also not in an error.
package foreignhash

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrUnknown means that a text is in no format that is known here.
	ErrUnknown = errors.New("no known format of a password hash")
	// ErrForm means that a hash of a known format is malformed.
	ErrForm = errors.New("malformed")
	// ErrCost means that a hash asks for more than a server agrees to compute, or for
	// so little that it protects nothing.
	ErrCost = errors.New("costs out of bounds")
)

// MaxText is the longest text that is kept, in bytes: the size of its column.
const MaxText = 255

// A Hash is a kept hash that has been read, and that is safe to compute.
type Hash struct {
	// Format names the algorithm and its costs: it begins the text of every hash that
	// costs the same. No secret is in it.
	Format string
	// KiB is the memory that comparing takes.
	KiB uint32

	matches func(password string) bool
}

// Matches reports whether the hash is of that password, in a time that depends on the
// format and the password only. The empty password matches none: systems that accept it
// have accounts that anybody opens. Neither does one with a zero byte, which no keyboard sends: HMAC
// takes zeros at the end of a key for none (RFC 2104), and bcrypt takes "a\x00a" for "a", since it
// repeats the key with a zero byte in between.
func (h Hash) Matches(password string) bool {
	return h.matches(password) && password != "" && !strings.Contains(password, "\x00")
}

// A format is an algorithm as it is kept. read gets what is behind the prefix.
type format struct {
	prefix string
	read   func(prefix, rest string) (Hash, error)
	// decoy is a random text behind a Format.
	decoy func() string
}

// formats are all; no prefix begins another one.
var formats = []format{
	{"$2a$", readBcrypt, decoyBcrypt},
	{"$2b$", readBcrypt, decoyBcrypt},
	{"$2y$", readBcrypt, decoyBcrypt},
	{djangoBcrypt, readBcryptOfSHA256, nil},
	{"$pbkdf2$", readPBKDF2, decoyOf(adapted, 16, 20)},
	{"$pbkdf2-sha256$", readPBKDF2, decoyOf(adapted, 16, 32)},
	{"$pbkdf2-sha512$", readPBKDF2, decoyOf(adapted, 16, 64)},
	{"$scrypt$", readScrypt, decoyOf(raw64, 16, 32)},
	{firebase, readScrypt, decoyOf(raw64, 9, 64)},
	{"$argon2i$", readArgon2i, decoyOf(raw64, 16, 32)},
	{"$over-md5$", readOver, nil},
	{"$over-sha1$", readOver, nil},
	{"$over-sha256$", readOver, nil},
}

// Read reads a kept hash. It fails with [ErrUnknown], [ErrForm] or [ErrCost], and has
// computed nothing then.
func Read(text string) (Hash, error) {
	if len(text) > MaxText {
		return Hash{}, fmt.Errorf("foreignhash: %w: longer than %d bytes", ErrForm, MaxText)
	}
	for _, f := range formats {
		if rest, ok := strings.CutPrefix(text, f.prefix); ok {
			h, err := f.read(f.prefix, rest)
			if err != nil {
				return Hash{}, fmt.Errorf("foreignhash: %s: %w", strings.Trim(f.prefix, "$"), err)
			}
			return h, nil
		}
	}
	return Hash{}, fmt.Errorf("foreignhash: %w", ErrUnknown)
}

// raw64 is the base64 of the PHC string format; adapted is that of passlib.
var (
	raw64   = base64.RawStdEncoding
	adapted = base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./").WithPadding(base64.NoPadding)
)

// decode reads base64 of that many bytes, written in the one way that there is: Go's
// decoder skips ends of lines and disregards bits behind the last byte.
func decode(e *base64.Encoding, text string, least, most int) ([]byte, error) {
	b, err := e.DecodeString(text)
	if err != nil || e.EncodeToString(b) != text {
		return nil, fmt.Errorf("%w: base64", ErrForm)
	}
	if len(b) < least || len(b) > most {
		return nil, fmt.Errorf("%w: %d bytes, want %d to %d", ErrForm, len(b), least, most)
	}
	return b, nil
}

// number reads a decimal number as it is written, without signs and leading zeros. One out
// of bounds is [ErrCost].
func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%w: want %d to %d", ErrCost, least, most)
	case err != nil || strconv.Itoa(n) != text:
		return 0, fmt.Errorf("%w: not a number", ErrForm)
	case n < least || n > most:
		return 0, fmt.Errorf("%w: %d, want %d to %d", ErrCost, n, least, most)
	}
	return n, nil
}

// A cost is how a number begins, and the most that it may be.
type cost struct {
	name string
	most int
}

// costs reads three numbers from 1 on behind their names, such as m=65536,t=3,p=4.
func costs(text string, of [3]cost) (a, b, c int, err error) {
	part := strings.Split(text, ",")
	if len(part) != 3 {
		return 0, 0, 0, ErrForm
	}
	for i, to := range []*int{&a, &b, &c} {
		digits, ok := strings.CutPrefix(part[i], of[i].name)
		if !ok {
			return 0, 0, 0, ErrForm
		}
		if *to, err = number(digits, 1, of[i].most); err != nil {
			return 0, 0, 0, err
		}
	}
	return a, b, c, nil
}

// saltAndKey reads a salt of so many bytes at least, and a key of so many at most.
func saltAndKey(e *base64.Encoding, salt, key string, least, most int) (s, k []byte, err error) {
	if s, err = decode(e, salt, least, maxSalt); err != nil {
		return nil, nil, err
	}
	k, err = decode(e, key, minKey, most)
	return s, k, err
}

func equal(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }

// Salts and keys, in bytes. A shorter key would be guessed by chance.
const (
	maxSalt = 64
	minKey  = 16
	maxKey  = 64
)

// Decoy returns a random hash in that [Hash.Format], as it is stored, that belongs to no
// password. Comparing with it costs what comparing with any hash of the format does. It fails with [ErrUnknown] for a
// text that is no Format.
func Decoy(of string) (string, error) {
	text := ""
	for _, f := range formats {
		if f.decoy != nil && strings.HasPrefix(of, f.prefix) {
			text = of + f.decoy()
		}
	}
	h, err := Read(text)
	if err != nil || h.Format != of {
		return "", fmt.Errorf("foreignhash: decoy: %w", ErrUnknown)
	}
	return text, nil
}

// decoyOf makes a salt and a key of so many random bytes.
func decoyOf(e *base64.Encoding, salt, key int) func() string {
	return func() string { return e.EncodeToString(random(salt)) + "$" + e.EncodeToString(random(key)) }
}

func decoyBcrypt() string {
	return bcrypt64.EncodeToString(random(16)) + bcrypt64.EncodeToString(random(23))
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
