package foreignhash

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
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
