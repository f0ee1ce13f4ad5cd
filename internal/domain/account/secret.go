package account

import (
	"crypto/subtle"

	"golang.org/x/text/unicode/norm"

	"github.com/flakepass/flakepass/internal/domain/hidden"
)

// A Password is what a person typed. It cannot print itself: every fmt verb,
// slog and encoding/json show "[redacted]". No other package can read it
// back; it is checked with [CheckPassword] and hashed with [Hasher]. The zero
// Password is the empty one.
type Password struct {
	hidden.Value
	text  hidden.Text
	typed hidden.Text // where that is not the same; nothing if it is
}

func (p Password) reveal() string { return p.text.Reveal() }

// maxNormalized is the longest text, in bytes, that NewPassword normalises.
// Composing shrinks a text to no less than a third, so a longer one is over
// maxPasswordBytes in any form and is refused as it is.
const maxNormalized = 16 * maxPasswordBytes

// NewPassword takes what a person typed, in Unicode normal form C, as NIST
// SP 800-63B section 3.1.1.2 advises: one keyboard sends é as one code point
// and another as two, and both must open the account. It does nothing else: no
// trimming, no change of case, no cut. It accepts any text; the rules for a
// new password are those of [CheckPassword].
func NewPassword(s string) Password {
	if len(s) > maxNormalized {
		return Password{text: hidden.Of(s)}
	}
	normal := norm.NFC.String(s)
	p := Password{text: hidden.Of(normal)}
	if normal != s {
		p.typed = hidden.Of(s)
	}
	return p
}

// spellings are the normal form, and what was typed if that is another.
func (p Password) spellings() []string {
	if p.typed.None() {
		return []string{p.reveal()}
	}
	return []string{p.reveal(), p.typed.Reveal()}
}

// spelled is the password as a hash has it: other systems hash what was typed.
func (p Password) spelled(foreign bool) string {
	if foreign && !p.typed.None() {
		return p.typed.Reveal()
	}
	return p.reveal()
}

// A PHC is a password hash in the PHC string format, such as
// $argon2id$v=19$m=19456,t=2,p=1$salt$key. It cannot print itself, since
// a reader of a hash can guess passwords against it at leisure. The zero PHC
// belongs to an account without a password, which no password opens. Its text belongs in the
// users table and nowhere else.
type PHC struct{ hidden.Text }

// NewPHC wraps a hash read from storage. It does not check it; [Hasher.Verify]
// does.
func NewPHC(s string) PHC {
	if s == "" {
		return PHC{}
	}
	return PHC{hidden.Of(s)}
}

// IsZero reports whether there is no hash.
func (p PHC) IsZero() bool { return p.Reveal() == "" }

// Equal reports, in constant time, whether two hashes are the same text. It
// does not say whether they are of the same password.
func (p PHC) Equal(q PHC) bool {
	return subtle.ConstantTimeCompare([]byte(p.Reveal()), []byte(q.Reveal())) == 1
}
