package flakepass

import (
	"fmt"
	"log/slog"
	"net/http"
)

const keyPrefix = "fpk_"

// ServiceKeyLen is the length of every service key's text, in bytes.
const ServiceKeyLen = len(keyPrefix) + restWidth

// A ServiceKey is the secret credential of another back end, which checks or revokes
// tokens with it. It opens no login, and is refused wherever a person is expected. An
// account of the role service may have several at once, so that a new one is in use
// before the old one is revoked. The zero ServiceKey is no key.
//
// Its text is that of a [Token] with the prefix fpk_. Like a Token it does not print
// itself, and cannot be compared with ==.
type ServiceKey struct {
	_ [0]func() // not comparable

	text *byte // as in Token, of ServiceKeyLen bytes
}

// NewServiceKey mints the key with that ID. Its secret holds 130 bits from crypto/rand.
func NewServiceKey(id ID) ServiceKey { return ServiceKey{text: mint(keyPrefix, id)} }

// ParseServiceKey reads the text of a service key. It returns [ErrKeyMalformed] for all
// else, also for a token. It does no I/O, allocates nothing, and keeps a reference to s.
func ParseServiceKey(s string) (ServiceKey, error) {
	if !wellFormed(keyPrefix, s) {
		return ServiceKey{}, ErrKeyMalformed
	}
	return ServiceKey{text: bytesOf(s)}, nil
}

// ID is the public number of the key, or 0 for the zero ServiceKey. It may be logged,
// listed and put in a URL; an operator revokes a key by it.
func (k ServiceKey) ID() ID {
	if k.text == nil {
		return 0
	}
	return idIn(keyPrefix, k.Reveal())
}

// IsZero reports whether k is no key.
func (k ServiceKey) IsZero() bool { return k.text == nil }

// Reveal is the key's text: the secret itself. It belongs in the answer to its making
// and in an Authorization header, and nowhere else.
func (k ServiceKey) Reveal() string {
	if k.text == nil {
		return ""
	}
	return textAt(k.text, ServiceKeyLen)
}

// String shows the ID and hides the secret.
func (k ServiceKey) String() string {
	if k.text == nil {
		return "service key(none)"
	}
	return "service key(" + k.ID().String() + ")"
}

// Format hides the secret under every verb of fmt.
func (k ServiceKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// LogValue hides the secret from slog.
func (k ServiceKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText hides the secret from encoders.
func (k ServiceKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what [ParseServiceKey] accepts, as [Token.UnmarshalText] does.
func (k *ServiceKey) UnmarshalText(b []byte) error {
	read, err := ParseServiceKey(string(b))
	if err == nil {
		*k = read
	}
	return err
}

// ServiceCredential is [Credential] for routes that a back end calls: it finds a token or
// a service key, and the other one of the two is zero.
func ServiceCredential(h http.Header, extra string) (Token, ServiceKey, error) {
	text, err := credential(h, extra)
	if err != nil {
		return Token{}, ServiceKey{}, err
	}
	return ParseServiceCredential(text)
}

// ParseServiceCredential reads the text of a token or of a service key: the other one of
// the two is zero. It fails with [ErrKeyMalformed] for what begins like a key, and with
// [ErrMalformed] for all else.
func ParseServiceCredential(s string) (Token, ServiceKey, error) {
	if len(s) >= len(keyPrefix) && s[:len(keyPrefix)] == keyPrefix {
		k, err := ParseServiceKey(s)
		return Token{}, k, err
	}
	t, err := ParseToken(s)
	return t, ServiceKey{}, err
}
