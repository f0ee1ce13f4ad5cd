package config

import (
	"fmt"
	"log/slog"
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
