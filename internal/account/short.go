package account

import (
	"context"
	"errors"
	"slices"
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

// CheckPasswordBeside is [CheckPassword] for an account with a second factor: 8
// characters are enough. All other rules hold, those about common passwords too.
func CheckPasswordBeside(username string, p Password) error {
	if f := problemsBeside(username, p.reveal()); len(f) > 0 {
		return &InvalidError{Fields: f}
	}
	return nil
}

func problemsBeside(username, s string) []FieldError {
	n := utf8.RuneCountInString(s)
	problems := slices.DeleteFunc(passwordProblems(username, s), func(f FieldError) bool { return f.Code == CodeTooShort })
	bad := func(code, message string) { problems = append(problems, FieldError{"password", code, message}) }
	switch {
	case s != "" && n < minBeside:
		bad(CodeTooShort, "must have at least 8 characters; a sentence of a few words is easiest")
	case n >= minBeside && n < minPassword && tooCommon(fold(s)):
		bad(CodeTooCommon, "is easy to guess: it is a common word, a repetition or a run of keys; a sentence of a few words is easiest")
	}
	return problems
}

// NewHashBeside is [Service.NewHash] for an account with a second factor.
func (s *Service) NewHashBeside(ctx context.Context, username string, p Password) (PHC, error) {
	if problems := s.stolen(ctx, problemsBeside(username, p.reveal()), p); len(problems) > 0 {
		return PHC{}, &InvalidError{Fields: problems}
	}
	return s.Hasher.Hash(ctx, p)
}
