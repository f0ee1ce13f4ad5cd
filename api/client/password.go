package client

import (
	"errors"
	"fmt"
	"log/slog"
)

// A secret is a text that cannot print itself: every fmt verb, slog and
// encoding/json show that there is one, and never which. The zero secret is empty.
type secret struct {
	_ [0]func() // not comparable: == takes the time of the first difference
	// A pointer, for fmt shows a string in a field that it may not call methods on.
	text *string
}

// secretOf hides a text; an empty one is the zero secret.
func secretOf(text string) secret {
	if text == "" {
		return secret{}
	}
	return secret{text: &text}
}

func (s secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

const redacted = "[redacted]"

// String hides the text.
func (secret) String() string { return redacted }

// Format hides the text under every verb of fmt.
func (secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue hides the text from slog.
func (secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the text from encoders.
func (secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText keeps the text. It fails only for what MarshalText writes.
func (s *secret) UnmarshalText(b []byte) error {
	if string(b) == redacted {
		return errors.New("client: a secret that was hidden when it was written")
	}
	*s = secretOf(string(b))
	return nil
}

// A Password is a password that cannot print itself: every fmt verb, slog and
// encoding/json show that there is one, and never which. The zero Password is
// empty.
type Password struct{ secret }

// NewPassword makes one of its text.
func NewPassword(text string) Password { return Password{secretOf(text)} }

// A DeviceCredential shows that this device was logged in to an account before. It
// opens nothing. It cannot print itself, as a [Password] cannot; the zero
// DeviceCredential is none.
type DeviceCredential struct{ secret }

// NewDeviceCredential makes one of its text, such as [DeviceCredential.Reveal] gave;
// of an empty text none.
func NewDeviceCredential(text string) DeviceCredential { return DeviceCredential{secretOf(text)} }

// Reveal is the text, to be kept for the next login.
func (d DeviceCredential) Reveal() string { return d.reveal() }

// A Ticket came with [SessionLimit], and stands for the proofs of one login. It cannot print
// itself, as a [Password] cannot; the zero Ticket is none.
type Ticket struct{ secret }

// NewTicket makes one of its text; of an empty text none.
func NewTicket(text string) Ticket { return Ticket{secretOf(text)} }

// IsZero reports whether there is none.
func (t Ticket) IsZero() bool { return t.text == nil }

// Reveal is the text.
func (t Ticket) Reveal() string { return t.reveal() }

// A ResetToken lets who has it set the password of one user, once. It cannot
// print itself, as a [Password] cannot. The zero ResetToken is none.
type ResetToken struct{ secret }

// NewResetToken makes one of its text.
func NewResetToken(text string) ResetToken { return ResetToken{secretOf(text)} }

// Reveal is the text: the secret itself. It belongs to the user, and nowhere else.
func (t ResetToken) Reveal() string { return t.reveal() }

// A Secret is shown once: the secret of an authenticator app, its URI, or a
// recovery code. It cannot print itself, as a [Password] cannot.
type Secret struct{ secret }

// Reveal is the text, to be shown to that person only.
func (s Secret) Reveal() string { return s.reveal() }
