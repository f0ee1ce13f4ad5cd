package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/hidden"
)

// How long a started reset can be used: the default, unless the issuer says
// otherwise, and the least and the most that can be said.
const (
	ResetLife    = time.Hour
	MinResetLife = 10 * time.Minute
	MaxResetLife = 24 * time.Hour
)

// ErrReset means that a text is not the token of a reset that can be used: it
// never was one, is used, withdrawn, replaced or expired, the password was changed
// since, or the right of who started it has ended. They have one answer, so that
// guessing reveals nothing.
var ErrReset = errors.New("no such reset of a password, or it is over")

// The text of a reset token is
//
//	fpr_ + 26 characters of secret (130 bits) + 8 hexadecimal digits of CRC-32
//
// By prefix and checksum a scanner finds a leaked one in a file, and a mistyped
// one is refused without asking the database.
const (
	resetPrefix = "fpr_"
	resetSumAt  = len(resetPrefix) + 26

	// ResetTokenLen is the length of every reset token's text, in bytes.
	ResetTokenLen = resetSumAt + 8
)

// A ResetToken lets its holder set the password of one account, once. It
// cannot print itself: its text is the secret itself, which is shown once, to the actor who
// started the reset, and kept nowhere. The zero ResetToken is none.
type ResetToken struct{ hidden.Text }

// NewResetToken draws a token with 130 bits from crypto/rand.
func NewResetToken() ResetToken {
	text := resetPrefix + rand.Text()
	return ResetToken{hidden.Of(text + resetSum(text))}
}

func resetSum(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

// ParseResetToken reads the text of a token. It returns [ErrReset] unless the
// text has the exact length, alphabet and checksum.
func ParseResetToken(s string) (ResetToken, error) {
	if len(s) != ResetTokenLen || !strings.HasPrefix(s, resetPrefix) || s[resetSumAt:] != resetSum(s[:resetSumAt]) {
		return ResetToken{}, ErrReset
	}
	for _, c := range []byte(s[len(resetPrefix):resetSumAt]) {
		if (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return ResetToken{}, ErrReset
		}
	}
	return ResetToken{hidden.Of(s)}, nil
}

// A ResetHash is the SHA-256 of a token, as it is kept. Of 130 random bits a
// plain hash gives nothing away.
type ResetHash [sha256.Size]byte

// Hash is t as it is kept and looked up.
func (t ResetToken) Hash() ResetHash { return sha256.Sum256([]byte(t.Reveal())) }

// A Reset is a started reset, as it is kept: at most one for each user.
//
// It can be used until it expires. It ends earlier if one of these things happens:
//   - the version of the user's password grows: see [User.PasswordVersion];
//   - all logins are ended;
//   - the issuer, if it is a user, is no longer an enabled admin, or its account changes.
//
// A change of the issuer's account is one of the role, the state, the password or the second
// factor, or a request to delete the account. A rename is none. A change that is undone still
// counts: an admin who was demoted and is an admin again has to start another reset.
type Reset struct {
	ID        idworker.ID // of the event of the start, and so its time
	UserID    idworker.ID
	Hash      ResetHash
	ExpiresAt time.Time // from then on it cannot be used
	Issuer    Issuer
}

// An Issuer is who started a reset, as the record has it. ID is 0 for the operator
// of a shell, who is no user.
type Issuer struct {
	ID   idworker.ID
	Name string
}

// MarshalJSON is for the record, in events about others: a user is there by the ID only, so
// that no name is left when the user is deleted.
func (i Issuer) MarshalJSON() ([]byte, error) {
	if i.ID != 0 {
		return json.Marshal(map[string]idworker.ID{"issued_by": i.ID})
	}
	return json.Marshal(map[string]string{"issuer": i.Name})
}

// An OpenReset is a reset that can be used, without the token, which only those have
// to whom it was given.
type OpenReset struct {
	ID        idworker.ID // that of the [Reset]
	UserID    idworker.ID
	Username  string
	Issuer    Issuer
	ExpiresAt time.Time
}
