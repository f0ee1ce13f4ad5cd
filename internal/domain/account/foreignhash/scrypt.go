package foreignhash

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"strings"

	"golang.org/x/crypto/scrypt"
)

// Bounds of scrypt. 128 N r bytes of memory are at most 256 MiB, and N r p, which the
// time follows, is at most as much as that memory once.
const (
	maxLogN  = 20
	maxR     = 32
	maxP     = 16
	maxWork  = 256 << 20 / 128
	minLogNR = 10 + 3 // N = 1024 with r = 8
)

// firebase begins a hash of Firebase. Firebase encrypts the project's signer key with a
// key that scrypt derives from the password, and keeps the result. What is kept here is
// the stream by which the signer key was changed: it is compared as well, and neither a
// row nor its backup has the signer key.
const firebase = "$firebase-scrypt$"

// readScrypt reads ln=14,r=8,p=1$salt$key, as passlib writes them.
func readScrypt(prefix, rest string) (Hash, error) {
	part := strings.Split(rest, "$")
	if len(part) != 3 {
		return Hash{}, ErrForm
	}
	logN, r, p, err := scryptCosts(part[0])
	if err != nil {
		return Hash{}, err
	}
	salt, key, err := saltAndKey(raw64, part[1], part[2], 1, maxKey)
	if err != nil {
		return Hash{}, err
	}
	length := len(key)
	if prefix == firebase {
		length = 32
	}
	h := Hash{Format: prefix + part[0] + "$", KiB: uint32(r<<logN) / 8}
	h.matches = func(password string) bool {
		got, err := scrypt.Key([]byte(password), salt, 1<<logN, r, p, length)
		if err == nil && prefix == firebase {
			got, err = stream(got, len(key))
		}
		return err == nil && equal(got, key)
	}
	return h, nil
}

func scryptCosts(text string) (logN, r, p int, err error) {
	logN, r, p, err = costs(text, [3]cost{{"ln=", maxLogN}, {"r=", maxR}, {"p=", maxP}})
	if err != nil {
		return 0, 0, 0, err
	}
	if work := r << logN; work*p > maxWork || work < 1<<minLogNR {
		return 0, 0, 0, fmt.Errorf("%w: ln=%d, r=%d, p=%d", ErrCost, logN, r, p)
	}
	return logN, r, p, nil
}

// stream is what AES-256 in counter mode, from zero, adds to a text of n bytes.
func stream(key []byte, n int) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, n)
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(out, out) //nolint:gosec // Firebase begins at zero; each key has one password
	return out, nil
}
