// Package hidden has what cannot print itself: every verb of fmt, slog and encoders show
// that something is there, and never what.
package hidden

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// A Value is embedded in a type of which nothing is shown.
type Value struct{}

// String hides the value.
func (Value) String() string { return redacted }

// Format hides the value under every verb of fmt.
func (Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue hides the value from slog.
func (Value) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the value from encoders.
func (Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// A Text is a text of which nothing is shown. It stands behind a pointer: fmt may not call
// methods on a value in an unexported field, and prints what it finds there, but it does not
// follow a pointer below the top level. The zero Text is empty.
type Text struct {
	Value
	_    [0]func() // not comparable: == takes the time of the first difference
	text *string
}

// Of hides a text.
func Of(text string) Text { return Text{text: &text} }

// None reports whether t is the zero Text.
func (t Text) None() bool { return t.text == nil }

// Reveal is the text, for the one place that needs it.
func (t Text) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}
