package client

import (
	"fmt"
	"log/slog"
)

// A DeviceCredential shows that this device was logged in to an account before. It
// opens nothing. It cannot print itself; the zero DeviceCredential is none.
type DeviceCredential struct {
	_    [0]func() // not comparable
	text *string   // as in Password
}

// NewDeviceCredential makes one of its text, such as [DeviceCredential.Reveal] gave;
// of an empty text none.
func NewDeviceCredential(text string) DeviceCredential {
	if text == "" {
		return DeviceCredential{}
	}
	return DeviceCredential{text: &text}
}

// Reveal is the text, to be kept for the next login.
func (d DeviceCredential) Reveal() string {
	if d.text == nil {
		return ""
	}
	return *d.text
}

// String hides the text.
func (DeviceCredential) String() string { return redacted }

// Format hides the text under every verb of fmt.
func (DeviceCredential) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue hides the text from slog.
func (DeviceCredential) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the text from encoders.
func (DeviceCredential) MarshalText() ([]byte, error) { return []byte(redacted), nil }
