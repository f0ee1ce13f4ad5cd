package config

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// Values of [Config.SecondFactor].
const (
	SecondFactorOptional = "optional" // whoever wants one adds one
	SecondFactorAdmins   = "admins"   // an admin without one can do nothing but add one
)

// secondFactorKey is the length of a key, in bytes: AES-256.
const secondFactorKey = 32

// secondFactorSettings are two lines of the table.
func secondFactorSettings() []setting {
	return []setting{
		{
			key: "second_factor", def: SecondFactorOptional,
			doc: "`optional`: whoever wants a second factor (codes of an authenticator app) adds one. `admins`: an admin without one can do nothing but add one.",
			parse: func(c *Config, v string) error {
				return oneOf(&c.SecondFactor, v, SecondFactorOptional, SecondFactorAdmins)
			},
			show: func(c *Config) string { return c.SecondFactor },
		}, {
			key: "second_factor_key", secret: true, empty: true,
			doc: "Encrypts the secrets of second factors in the database: 32 bytes in hexadecimal or base64, the same on all instances. `openssl rand -hex 32` makes one. " +
				"Several, with commas: the first encrypts and all decrypt, so put a new one in front, and leave the old one until `flakepass user second-factor rekey` has been run. " +
				"Empty: with SQLite one is made in the data directory; with MySQL nobody can add a second factor.",
			parse: func(c *Config, v string) error { return parseSecondFactorKeys(&c.SecondFactorKeys, v) },
			show:  func(c *Config) string { return NewSecret(strings.Repeat("x", len(c.SecondFactorKeys))).String() },
		},
	}
}

// parseSecondFactorKeys reads keys, with commas between them. No error repeats
// any.
func parseSecondFactorKeys(dst *[]Secret, v string) error {
	var keys []Secret
	for i, text := range strings.Split(v, ",") {
		if v == "" {
			break
		}
		key, ok := keyBytes(strings.TrimSpace(text))
		if !ok {
			return fmt.Errorf("key %d is not 32 bytes in hexadecimal or base64; make one with: openssl rand -hex 32", i+1)
		}
		for _, before := range keys {
			if before.Reveal() == key {
				return fmt.Errorf("key %d is there twice; remove one", i+1)
			}
		}
		keys = append(keys, NewSecret(key))
	}
	*dst = keys
	return nil
}

// keyBytes reads one key, as hexadecimal or as any of the usual forms of base64.
func keyBytes(text string) (string, bool) {
	if key, err := hex.DecodeString(text); err == nil {
		return string(key), len(key) == secondFactorKey
	}
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawStdEncoding.Strict().DecodeString(text)
	return string(key), err == nil && len(key) == secondFactorKey
}

// checkSecondFactor notes a demand that nobody could meet.
func (l *loader) checkSecondFactor() {
	c := &l.config
	if c.SecondFactor != SecondFactorAdmins || c.Database.Kind != MySQL || len(c.SecondFactorKeys) > 0 || l.wrong["second_factor_key"] || l.wrong["database"] {
		return
	}
	l.problems = append(l.problems, Problem{Variable: prefix + "SECOND_FACTOR_KEY",
		Text: "admins need a second factor (" + prefix + "SECOND_FACTOR), and without a key nobody can add one; make one with: openssl rand -hex 32"})
}
