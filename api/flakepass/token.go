package flakepass

import (
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"log/slog"
	"unsafe"

	"github.com/flakepass/flakepass/api/wire"
)

// The text of a token is
//
//	fp_ + 11 base62 digits of the ID + 26 characters of secret + 6 base62 digits of CRC-32
//
// and that of a [ServiceKey] differs in the prefix. The ID comes first and has a fixed
// width, and the digits are in the order of ASCII, so the order of texts is the order of
// IDs, which is the order of time. Prefix and checksum let a scanner find a leaked
// credential in a file, and let anyone refuse a mistyped one without asking the server.
const (
	tokenPrefix = "fp_"

	// Widths, in characters.
	idWidth     = 11
	secretWidth = 26
	sumWidth    = 6
	restWidth   = idWidth + secretWidth + sumWidth // all but the prefix

	// TokenLen is the length of every token's text, in bytes.
	TokenLen = len(tokenPrefix) + restWidth
)

// A Token is the secret credential of one login. The zero Token is no token.
//
// A Token does not print itself: every fmt verb, slog and encoding/json show
// its ID, which is public, and never its secret. [Token.Reveal] is the only
// way to its text. Tokens cannot be compared with ==, which would take the
// time of the first difference.
type Token struct {
	_ [0]func() // not comparable

	// text points at the first of TokenLen bytes that never change. A string
	// field would be shown by fmt when a Token sits in an unexported field,
	// where fmt may not call methods; a *string costs an allocation on every
	// request.
	text *byte
}

// NewToken mints the token of the session with that ID. Its secret holds 130
// bits from crypto/rand.
func NewToken(id ID) Token { return Token{text: mint(tokenPrefix, id)} }

// mint writes a credential with that prefix, and a secret from crypto/rand.
func mint(prefix string, id ID) *byte {
	b := make([]byte, 0, len(prefix)+restWidth)
	b = append(b, prefix...)
	b = appendBase62(b, uint64(id), idWidth)
	b = append(b, rand.Text()...)
	return unsafe.SliceData(appendBase62(b, uint64(crc32.ChecksumIEEE(b)), sumWidth)) //nolint:gosec // no other reference exists
}

// bytesOf is where the bytes of s are, which never change.
func bytesOf(s string) *byte { return unsafe.StringData(s) } //nolint:gosec // a string never changes

// textAt is the text of n bytes that never change.
func textAt(b *byte, n int) string { return unsafe.String(b, n) } //nolint:gosec // every caller has checked n, or minted so many

// ParseToken reads the text of a token. It returns [ErrKeyNotAccepted] for the text of a
// service key, and [ErrMalformed] unless the text has the exact length, alphabet and
// checksum, and an ID in range. It does no I/O, allocates nothing, and keeps a reference
// to s.
func ParseToken(s string) (Token, error) {
	if !wellFormed(tokenPrefix, s) {
		if wellFormed(keyPrefix, s) {
			return Token{}, ErrKeyNotAccepted
		}
		return Token{}, ErrMalformed
	}
	return Token{text: bytesOf(s)}, nil
}

// wellFormed reports whether s is the text of a credential with that prefix.
func wellFormed(prefix, s string) bool {
	if len(s) != len(prefix)+restWidth || s[:len(prefix)] != prefix {
		return false
	}
	secretAt, sumAt := len(prefix)+idWidth, len(s)-sumWidth
	id, ok := parseBase62(s[len(prefix):secretAt])
	if !ok || id == 0 || id > 1<<63-1 {
		return false
	}
	for i := secretAt; i < sumAt; i++ {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	text := bytesOf(s)
	sum, ok := parseBase62(s[sumAt:])
	return ok && sum == uint64(crc32.ChecksumIEEE(unsafe.Slice(text, sumAt))) //nolint:gosec // within s, and only read
}

// idIn is the ID in the text of a credential with that prefix.
func idIn(prefix, text string) ID {
	id, _ := parseBase62(text[len(prefix) : len(prefix)+idWidth])
	return ID(id)
}

// ID is the public number of the session that the token opens, or 0 for the
// zero Token. It may be logged, listed and put in a URL.
func (t Token) ID() ID {
	if t.text == nil {
		return 0
	}
	return idIn(tokenPrefix, t.Reveal())
}

// IsZero reports whether t is no token.
func (t Token) IsZero() bool { return t.text == nil }

// Reveal is the token's text: the secret itself. It belongs in the answer to a
// login and in an Authorization header, and nowhere else.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return textAt(t.text, TokenLen)
}

// String shows the ID and hides the secret.
func (t Token) String() string {
	if t.text == nil {
		return "token(none)"
	}
	return "token(" + t.ID().String() + ")"
}

// Format hides the secret under every verb of fmt.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// LogValue hides the secret from slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText hides the secret from encoders. The one place that sends a token
// to its owner calls [Token.Reveal] by name.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what [ParseToken] accepts, and leaves the Token as it was if it
// does not. It does not read what MarshalText writes.
func (t *Token) UnmarshalText(b []byte) error {
	read, err := ParseToken(string(b))
	if err == nil {
		*t = read
	}
	return err
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func appendBase62(b []byte, v uint64, width int) []byte {
	n := len(b)
	b = append(b, "00000000000"[:width]...)
	for i := n + width - 1; v > 0; i-- {
		b[i] = base62[v%62]
		v /= 62
	}
	return b
}

// digits has the value of each base62 digit, and foreign for all else.
var digits = func() (d [256]uint8) {
	for i := range d {
		d[i] = foreign
	}
	for i := range len(base62) {
		d[base62[i]] = uint8(i)
	}
	return d
}()

const foreign = 1 << 7

// parseBase62 reads at most 11 digits. It reports false for a foreign
// character or a value that does not fit in 64 bits.
func parseBase62(s string) (uint64, bool) {
	var v uint64
	var bad uint8
	for i := range len(s) {
		if v > (1<<64-1-61)/62 {
			return 0, false
		}
		d := digits[s[i]]
		bad |= d
		v = v*62 + uint64(d)
	}
	return v, bad < foreign
}

// An ID is the public number of a user, a session or an event: see [wire.ID].
type ID = wire.ID

// ErrBadID says that a text is not the decimal form of an ID.
var ErrBadID = wire.ErrBadID

// ParseID reads what [ID.String] writes, or returns [ErrBadID]: see [wire.ParseID].
func ParseID(s string) (ID, error) { return wire.ParseID(s) }
