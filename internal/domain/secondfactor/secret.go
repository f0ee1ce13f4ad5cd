package secondfactor

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/flakepass/flakepass/internal/domain/hidden"
)

// secretLength is that of a secret, in bytes: as long as the output of the hash,
// as RFC 4226 section 4 recommends.
const secretLength = 20

// A Secret is what an authenticator app and the server share: 160 bits, in base
// 32 without padding. It cannot print itself.
type Secret struct{ hidden.Text }

var base = base32.StdEncoding.WithPadding(base32.NoPadding)

func newSecret() Secret {
	b := make([]byte, secretLength)
	_, _ = rand.Read(b) // never fails
	return secretOf(b)
}

func secretOf(b []byte) Secret { return Secret{hidden.Of(base.EncodeToString(b))} }

func (s Secret) bytes() []byte {
	b, _ := base.DecodeString(s.Reveal()) // made by secretOf
	return b
}

// A URI is what an authenticator app reads off a QR code: otpauth://totp/… with
// the secret in it, in the "Key Uri Format" of Google Authenticator. It cannot
// print itself.
type URI struct{ hidden.Text }

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
	return URI{hidden.Of(key.URL())}, nil
}
