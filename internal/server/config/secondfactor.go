package config

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// Values of [Config.SecondFactor].
const (
	SecondFactorOptional = "optional" // every user may add one
	SecondFactorAdmins   = "admins"   // an admin without one can do nothing but add one
)

// secondFactorKey is the length of a key, in bytes: AES-256.
const secondFactorKey = 32

// parseSecondFactorKeys reads keys, with commas between them. No error repeats
// any.
func parseSecondFactorKeys(v string) ([]Secret, error) {
	var keys []Secret
	for i, text := range strings.Split(v, ",") {
		key, ok := keyBytes(strings.TrimSpace(text))
		if !ok {
			return nil, fmt.Errorf("key %d is not 32 bytes in hexadecimal or base64; make one with: openssl rand -hex 32", i+1)
		}
		for _, before := range keys {
			if before.Reveal() == key {
				return nil, fmt.Errorf("key %d is there twice; remove one", i+1)
			}
		}
		keys = append(keys, NewSecret(key))
	}
	return keys, nil
}

// showKeys says that there are some.
func showKeys(keys []Secret) string { return NewSecret(strings.Repeat("x", len(keys))).String() }

// keyBytes reads one key, as hexadecimal or as any of the usual forms of base64.
func keyBytes(text string) (string, bool) {
	if key, err := hex.DecodeString(text); err == nil {
		return string(key), len(key) == secondFactorKey
	}
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawStdEncoding.Strict().DecodeString(text)
	return string(key), err == nil && len(key) == secondFactorKey
}

// checkSecondFactor notes a demand that no admin could meet.
func (l *loader) checkSecondFactor() {
	c := &l.config
	if c.SecondFactor != SecondFactorAdmins || c.Database.Kind != MySQL || len(c.SecondFactorKeys) > 0 || l.wrong["second_factor_key"] || l.wrong["database"] {
		return
	}
	l.problems = append(l.problems, Problem{Variable: prefix + "SECOND_FACTOR_KEY",
		Text: "admins need a second factor (" + prefix + "SECOND_FACTOR), and without a key no user can add one; make one with: openssl rand -hex 32"})
}
