package client

import (
	"fmt"
	"log/slog"
)

// A Password is a password that cannot print itself: every fmt verb, slog and
// encoding/json show that there is one, and never which. The zero Password is
// empty.
type Password struct {
	_ [0]func() // not comparable: == takes the time of the first difference
	// A pointer, for fmt shows a string in a field that it may not call methods on.
	text *string
}

// NewPassword makes one of its text.
func NewPassword(text string) Password { return Password{text: &text} }

func (p Password) reveal() string {
	if p.text == nil {
		return ""
	}
	return *p.text
}

const redacted = "[redacted]"

// String hides the password.
func (Password) String() string { return redacted }

// Format hides the password under every verb of fmt.
func (Password) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue hides the password from slog.
func (Password) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the password from encoders.
func (Password) MarshalText() ([]byte, error) { return []byte(redacted), nil }
