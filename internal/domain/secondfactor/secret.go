package secondfactor

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"log/slog"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"
)

const redacted = "[redacted]"

// secretLength is that of a secret, in bytes: as long as the output of the hash,
// as RFC 4226 section 4 recommends.
const secretLength = 20

// A hidden is a text that cannot print itself. It stands behind a pointer, for
// fmt reads unexported fields, and may not call methods there.
type hidden struct {
	_    [0]func() // not comparable: == takes the time of the first difference
	text *string
}

func hide(text string) hidden { return hidden{text: &text} }

// Reveal is the text, for the one answer that shows it.
func (h hidden) Reveal() string {
	if h.text == nil {
		return ""
	}
	return *h.text
}

// String hides the text.
func (hidden) String() string { return redacted }

// Format hides the text under every verb of fmt.
func (hidden) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue hides the text from slog.
func (hidden) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the text from encoders.
func (hidden) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// A Secret is what an authenticator app and the server share: 160 bits, in base
// 32 without padding. It cannot print itself.
type Secret struct{ hidden }

var base = base32.StdEncoding.WithPadding(base32.NoPadding)

func newSecret() Secret {
	b := make([]byte, secretLength)
	_, _ = rand.Read(b) // never fails
	return secretOf(b)
}

func secretOf(b []byte) Secret { return Secret{hide(base.EncodeToString(b))} }

func (s Secret) bytes() []byte {
	b, _ := base.DecodeString(s.Reveal()) // made by secretOf
	return b
}

// A URI is what an authenticator app reads off a QR code: otpauth://totp/… with
// the secret in it, in the "Key Uri Format" of Google Authenticator. It cannot
// print itself.
type URI struct{ hidden }

// uri is that of a secret, for the account with that name. Issuer is what the app
// shows beside it.
func (s Secret) uri(issuer, name string) (URI, error) {
	key, err := totp.Generate(totp.GenerateOpts{
		Issuer: issuer, AccountName: name, Secret: s.bytes(), Period: stepSeconds,
		Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1, // what every app can read
	})
	if err != nil {
		return URI{}, fmt.Errorf("secondfactor: uri: %w", err)
	}
	return URI{hide(key.URL())}, nil
}
