package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/flakepass/flakepass/internal/domain/hidden"
)

// mask stands where something secret is.
const mask = "[hidden]"

// A Secret is text that does not print itself: fmt, slog and encoders show
// that there is a secret, never what it is. The zero Secret is empty.
type Secret struct{ hidden.Text }

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{hidden.Of(text)}
}

// IsZero reports whether s is empty.
func (s Secret) IsZero() bool { return s.None() }

// String says that there is a secret; it is empty for an empty one.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return mask
}

// Format hides the secret under every verb of fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// readSecret reads the file that holds a secret. No error repeats the path: it may be the secret itself.
func (l *loader) readSecret(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path of the file is empty; give one, or remove the setting")
	}
	if strings.Contains(path, "://") || strings.HasPrefix(path, SQLite+":") {
		return "", errors.New("this is not a path; give the path of a file that holds the value, or use the setting without _FILE")
	}
	data, err := l.opts.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read that file (%s); check the path and who may read it, or use the setting without _FILE for the value itself", cause(err))
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("that file is longer than %d KiB, so it cannot hold a secret; name another file", maxFile>>10)
	}
	// Some editors begin a file with a byte order mark. It is no part of the text, and the other side does not have it.
	v := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), "\ufeff")
	if v == "" {
		return "", errors.New("that file is empty; write the value into it, or remove the setting")
	}
	return v, nil
}

// readFile reads at most one byte more than is allowed, so that a device
// without an end is found out.
func readFile(path string) ([]byte, error) {
	// To open a named pipe that nobody writes to would wait, and a signal would not end that.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// cause is why a file could not be read, without the path.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return "reading failed"
}

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
