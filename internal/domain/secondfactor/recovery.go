package secondfactor

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/hidden"
)

const (
	// RecoveryCodes is how many a person gets.
	RecoveryCodes = 10
	// recoveryLetters are 120 bits. OWASP ASVS 5.0, 6.5.2 lets codes of 112 bits and
	// more be kept under a plain hash; guessing at shorter ones would need a slow
	// one, and ten of those for each try.
	recoveryLetters = 24
	// The letters and digits of Crockford, without I, L, O and U.
	recoveryAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

var recoveryBase = base32.NewEncoding(recoveryAlphabet).WithPadding(base32.NoPadding)

// alike makes one of letters that people take for each other.
func alike(r rune) rune {
	switch r {
	case 'O':
		return '0'
	case 'I', 'L':
		return '1'
	}
	return r
}

// A RecoveryCode stands for the authenticator app once. It is shown when the
// factor is confirmed and never again. It cannot print itself.
type RecoveryCode struct{ hidden.Text }

// newRecovery makes the codes, as a person is shown them, and what is kept of
// them.
func newRecovery(user idworker.ID) (codes []RecoveryCode, kept []byte) {
	for range RecoveryCodes {
		b := make([]byte, recoveryLetters*5/8)
		_, _ = rand.Read(b) // never fails
		text := recoveryBase.EncodeToString(b)
		kept = append(kept, hashOf(user, text)...)
		var groups []string
		for part := range slices.Chunk([]byte(text), 4) {
			groups = append(groups, string(part))
		}
		codes = append(codes, RecoveryCode{hidden.Of(strings.Join(groups, "-"))})
	}
	return codes, kept
}

// hashOf is what is kept of a recovery code. The user is in it, so that a hash
// copied to another row opens nothing.
func hashOf(user idworker.ID, text string) []byte {
	b := binary.BigEndian.AppendUint64([]byte("flakepass recovery code\x00"), uint64(user))
	sum := sha256.Sum256(append(b, text...))
	return sum[:]
}

// without is what is kept once c was used, or false if c is not kept. What is
// compared is a hash of what was typed, so the time of a comparison says nothing
// about a code.
func (c Code) without(user idworker.ID, kept []byte) (left []byte, ok bool) {
	if c.kind != recovery {
		return nil, false
	}
	used := hashOf(user, c.Reveal())
	for one := range slices.Chunk(kept, sha256.Size) {
		if !ok && bytes.Equal(one, used) {
			ok = true
			continue
		}
		left = append(left, one...)
	}
	return left, ok
}

// A State is what users see of their own second factor.
type State struct {
	Enrolled bool // a login needs a code
	Left     int  // recovery codes that were not used
}

// State is that of a user's second factor. It fails with [account.ErrNotFound].
func (s *Service) State(ctx context.Context, user idworker.ID) (State, error) {
	f, err := s.Store.Factor(ctx, user)
	if err != nil {
		return State{}, fmt.Errorf("secondfactor: state: %w", err)
	}
	if f.At.IsZero() {
		return State{}, nil
	}
	return State{Enrolled: true, Left: len(f.Recovery) / sha256.Size}, nil
}

// Renew makes new recovery codes in place of the old ones. The caller has checked the
// user's code, and the password in the version that user has. Renew needs no key. It
// fails with [account.ErrStale] if the password or the factor has changed meanwhile;
// then the old codes stay.
func (s *Service) Renew(ctx context.Context, by audit.Actor, user *account.User) ([]RecoveryCode, error) {
	e, err := s.event(ctx, by, audit.NeedsLogin, audit.RecoveryCodesRenewed, user, nil)
	if err != nil {
		return nil, err
	}
	codes, kept := newRecovery(user.ID)
	ok, err := s.Codes.RenewRecovery(ctx, user.ID, user.PasswordVersion, kept, e)
	if err == nil && !ok {
		err = account.ErrStale
	}
	if err != nil {
		return nil, fmt.Errorf("secondfactor: renew: %w", err)
	}
	return codes, nil
}
