package foreignhash

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// The exponent of bcrypt's rounds. 14 is about a second.
const (
	minBcrypt = 4
	maxBcrypt = 14
)

// djangoBcrypt begins what Django writes for bcrypt of the SHA-256 of a password.
const djangoBcrypt = "bcrypt_sha256$"

var bcrypt64 = base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)

const (
	bcryptSalt = 22 // characters, of 16 bytes
	bcryptKey  = 31 // characters, of 23 bytes
)

// readBcrypt reads $2b$cost$ with salt and key in 53 characters. $2a$, $2b$ and $2y$
// are one algorithm: they name repairs of programs that were wrong.
//
// bcrypt uses 72 bytes of a password, and so did the system that made the hash: what
// comes behind them does not count until the password is hashed anew.
func readBcrypt(prefix, rest string) (Hash, error) {
	cost, text, ok := strings.Cut(rest, "$")
	if !ok || len(cost) != 2 || len(text) != bcryptSalt+bcryptKey {
		return Hash{}, ErrForm
	}
	n, err := number(strings.TrimPrefix(cost, "0"), minBcrypt, maxBcrypt)
	if err != nil {
		return Hash{}, err
	}
	if _, err := decode(bcrypt64, text[:bcryptSalt], 16, 16); err != nil {
		return Hash{}, err
	}
	if _, err := decode(bcrypt64, text[bcryptSalt:], 23, 23); err != nil {
		return Hash{}, err
	}
	whole := []byte(prefix + rest)
	return Hash{Format: fmt.Sprintf("$2b$%02d$", n), KiB: 4, matches: func(password string) bool {
		return bcrypt.CompareHashAndPassword(whole, []byte(password)) == nil
	}}, nil
}

func readBcryptOfSHA256(_, rest string) (Hash, error) {
	prefix := rest[:min(4, len(rest))]
	if prefix != "$2a$" && prefix != "$2b$" && prefix != "$2y$" {
		return Hash{}, ErrForm
	}
	h, err := readBcrypt(prefix, rest[4:])
	if err != nil {
		return Hash{}, err
	}
	inner := h.matches
	h.matches = func(password string) bool {
		sum := sha256.Sum256([]byte(password))
		return inner(hex.EncodeToString(sum[:]))
	}
	return h, nil
}
