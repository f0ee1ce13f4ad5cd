package secondfactor

import (
	"crypto/subtle"
	"strings"
	"unicode"

	"github.com/pquerna/otp/hotp"

	"github.com/flakepass/flakepass/internal/domain/hidden"
)

const (
	codeDigits  = 6
	stepSeconds = 30

	// maxTyped is more than any user types as a code, in bytes.
	maxTyped = 128
)

// A Code is what a person typed as the proof of a second factor: six digits of an
// authenticator app, or a recovery code. It cannot print itself, since a code
// that was not taken may still be good.
type Code struct {
	hidden.Text
	kind kind
}

type kind uint8

const (
	none     kind = iota // nothing was typed
	garbled              // what cannot be a code
	ofApp                // six digits
	recovery             // 24 letters and digits
)

// NewCode reads what a person typed. Spaces of any kind and hyphens are dropped,
// wherever they are; full-width digits and letters, which Chinese and Japanese
// keyboards send, count as the ASCII ones; digits of other scripts do not. Case
// does not matter, and in a recovery code O is 0, and I and L are 1. A text that
// cannot be a code is a wrong one, and not an error: a caller learns about codes
// only with the right password.
func NewCode(typed string) Code {
	if len(typed) > maxTyped {
		return Code{kind: garbled}
	}
	text := strings.Map(plainly, typed)
	switch {
	case text == "":
		return Code{}
	case len(text) == codeDigits && strings.Trim(text, "0123456789") == "":
		return Code{hidden.Of(text), ofApp}
	case len(text) == recoveryLetters:
		if text = strings.Map(alike, text); strings.Trim(text, recoveryAlphabet) == "" {
			return Code{hidden.Of(text), recovery}
		}
	}
	return Code{kind: garbled}
}

// plainly makes one spelling of a rune of all that mean the same, and -1 of one
// that means nothing.
func plainly(r rune) rune {
	if r >= '！' && r <= '～' { // the full-width forms of U+0021 to U+007E
		r -= '！' - '!'
	}
	switch {
	case unicode.IsSpace(r), unicode.Is(unicode.Pd, r), r == '\u200B', r == '\uFEFF':
		return -1
	case 'a' <= r && r <= 'z':
		return r - 'a' + 'A'
	}
	return r
}

// Given reports whether anything was typed.
func (c Code) Given() bool { return c.kind != none }

// step is the time step of which c is the code of s: that of now, or one to
// either side, for clocks that differ (RFC 6238 section 5.2), if it is later than
// last. All three are computed, whichever it is.
func (c Code) step(s Secret, now, last int64) (step int64, ok bool) {
	if c.kind != ofApp {
		return 0, false
	}
	for at := now - 1; at <= now+1; at++ {
		want, err := hotp.GenerateCode(s.Reveal(), uint64(at))
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(c.Reveal())) == 1 && at > last {
			step, ok = at, true
		}
	}
	return step, ok
}
