package account

import (
	"context"
	"errors"
	"unicode/utf8"
)

// minBeside is the least length, in code points, of a password beside which there
// is a second factor (NIST SP 800-63B-4 section 3.1.1.2).
const minBeside = 8

// ErrShort means that the password is right, and too short to be the only factor
// of an account.
var ErrShort = errors.New("password too short without a second factor")

// Alone reports whether p is long enough to be the only factor of an account.
func (p Password) Alone() bool { return utf8.RuneCountInString(p.reveal()) >= minPassword }

// NewHashBeside is [Service.NewHash] for an account with a second factor: 8
// characters are enough. All other rules hold, those about common passwords too.
func (s *Service) NewHashBeside(ctx context.Context, by Asker, username string, p Password) (PHC, error) {
	if problems := s.stolen(ctx, passwordProblems(username, p.reveal(), minBeside), p); len(problems) > 0 {
		return PHC{}, &InvalidError{Fields: problems}
	}
	return s.Hasher.Hash(ctx, by, p)
}
