package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
)

const hidden = "[hidden]"

// A Secret is text that does not print itself: fmt, slog and encoders show
// that there is a secret, never what it is. The zero Secret is empty.
type Secret struct {
	_ [0]func() // not comparable: == would take the time of the first difference

	// text is a pointer because fmt reads through unexported fields, where it
	// may not call methods; of a pointer it shows the address.
	text *string
}

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal is the secret itself.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether s is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// String says that there is a secret; it is empty for an empty one.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return hidden
}

// Format hides the secret under every verb of fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// readSecret reads the file that holds a secret.
func (l *loader) readSecret(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path of the file is empty; give one, or remove the setting")
	}
	if strings.Contains(path, "://") || strings.HasPrefix(path, SQLite+":") {
		return "", errors.New("this is not a path; give the path of a file that holds the value, or use the setting without _FILE")
	}
	data, err := l.opts.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read %s (%s); check the path and who may read it", quoted(path), cause(err))
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("%s is longer than %d KiB, so it cannot hold a secret; name another file", quoted(path), maxFile>>10)
	}
	// Some editors begin a file with a byte order mark. It is no part of the text, and the other side does not have it.
	v := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), "\ufeff")
	if v == "" {
		return "", fmt.Errorf("%s is empty; write the value into it, or remove the setting", quoted(path))
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
