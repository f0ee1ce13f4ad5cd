package foreignhash

import (
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // others have used it; HMAC does not rest on its collisions
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"strings"
)

// Rounds of PBKDF2. Fewer than a thousand protect nothing (RFC 2898); two million take
// about a second.
const (
	minRounds = 1000
	maxRounds = 2_000_000
)

var pbkdf2Hashes = map[string]func() hash.Hash{
	"$pbkdf2$":        sha1.New,
	"$pbkdf2-sha256$": sha256.New,
	"$pbkdf2-sha512$": sha512.New,
}

// readPBKDF2 reads rounds$salt$key, as passlib writes them. A key is no longer than the
// hash is: more of it would cost the server, and no attacker.
func readPBKDF2(prefix, rest string) (Hash, error) {
	part := strings.Split(rest, "$")
	if len(part) != 3 {
		return Hash{}, ErrForm
	}
	rounds, err := number(part[0], minRounds, maxRounds)
	if err != nil {
		return Hash{}, err
	}
	of := pbkdf2Hashes[prefix]
	salt, key, err := saltAndKey(adapted, part[1], part[2], 1, of().Size())
	if err != nil {
		return Hash{}, err
	}
	return Hash{Format: fmt.Sprintf("%s%d$", prefix, rounds), matches: func(password string) bool {
		got, err := pbkdf2.Key(of, password, salt, rounds, len(key))
		return err == nil && equal(got, key)
	}}, nil
}

// keepPBKDF2 is the kept text of a hash, or an error if it cannot be kept.
func keepPBKDF2(prefix string, rounds string, salt, key []byte) (string, error) {
	if size := pbkdf2Hashes[prefix]().Size(); len(key) > size {
		key = key[:size] // the first block alone decides it
	}
	return kept(prefix + rounds + "$" + adapted.EncodeToString(salt) + "$" + adapted.EncodeToString(key))
}
