package account

import (
	"context"
	"crypto/sha1" //nolint:gosec // the list is kept by it; nothing here rests on it
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// The limits are those of NIST SP 800-63B-4 section 3.1.1.2: at least 15 where
// the password is the only factor, at least 64 permitted.
const (
	minPassword      = 15
	maxPassword      = 256 // code points
	maxPasswordBytes = 1024
)

// CheckPassword says whether p may become the password of the account with
// that name. It must have 15 to 256 code points and at most 1024 bytes, no
// control characters, must not contain the username or be a part of it, and must not be one that
// guessers try early; what that means is said at [tooCommon]. There are no
// rules about kinds of characters: they make people write Passw0rd!.
//
// It returns an [*invalid.Error] whose fields are all named password. It does
// not hash, and takes a fraction of a millisecond once the list of common
// passwords is read, which the first call pays for.
func CheckPassword(username string, p Password) error {
	if f := passwordProblems(username, p.reveal(), minPassword); len(f) > 0 {
		return &invalid.Error{Fields: f}
	}
	return nil
}

// passwordProblems is all that is wrong with a password that must have at least
// that many characters.
func passwordProblems(username, s string, least int) (problems []invalid.Field) {
	bad := func(code, message string) {
		problems = append(problems, invalid.Field{Field: "password", Code: code, Message: message})
	}
	n := utf8.RuneCountInString(s)
	switch {
	case s == "":
		bad(CodeRequired, "must be given")
		return problems
	case n > maxPassword || len(s) > maxPasswordBytes:
		bad(CodeTooLong, "must have at most 256 characters, and at most 1024 bytes") // and no work is spent on it
		return problems
	case n < least:
		problems = append(problems, invalid.Field{
			Field: "password", Code: CodeTooShort, Bound: least,
			Message: fmt.Sprintf("must have at least %d characters; a sentence of a few words is easiest", least),
		})
	}
	// No keyboard sends a control character twice in the same way, and decoders put U+FFFD in the
	// place of what they could not read: two passwords that differ only there would be one.
	switch {
	case !utf8.ValidString(s):
		bad(CodeInvalidCharacters, "must be text in UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		bad(CodeInvalidCharacters, "must not have control characters")
	case strings.ContainsRune(s, utf8.RuneError):
		bad(CodeInvalidCharacters, "must not have the character U+FFFD")
	}
	folded := fold(s)
	if containsName(folded, username) || n >= least && strings.Contains(string(fold(username)), string(folded)) {
		bad(CodeContainsUsername, "must not contain the username, or be a part of it")
	}
	if n >= least && tooCommon(folded) {
		bad(CodeTooCommon, "is easy to guess: it is a common word, a repetition or a run of keys; a sentence of a few words is easiest")
	}
	return problems
}

// overlong reports a password that no account can have, since CheckPassword
// refuses it. It is not hashed.
func overlong(p Password) bool {
	s := p.reveal()
	return len(s) > maxPasswordBytes || utf8.RuneCountInString(s) > maxPassword
}

// longName is the length from which a name in a password is taken to be meant
// wherever it stands. A shorter one counts only as a separate word: the
// account ann may use "a cannon in the garden".
const longName = 5

// containsName reports whether a folded password contains the username, or the
// part of it before an @.
func containsName(folded []rune, username string) bool {
	text := string(folded)
	local, _, _ := strings.Cut(username, "@")
	for _, name := range []string{username, local} {
		name = string(fold(name))
		size := utf8.RuneCountInString(name)
		if size < minUsername {
			continue
		}
		for at := 0; ; {
			i := strings.Index(text[at:], name)
			if i < 0 {
				break
			}
			i += at
			before, _ := utf8.DecodeLastRuneInString(text[:i])
			after, _ := utf8.DecodeRuneInString(text[i+len(name):])
			if size >= longName || !wordy(before) && !wordy(after) {
				return true
			}
			_, step := utf8.DecodeRuneInString(text[i:])
			at = i + step
		}
	}
	return false
}

func wordy(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r)) }

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
		return PHC{}, &invalid.Error{Fields: problems}
	}
	return s.Hasher.Hash(ctx, by, p)
}

// A BreachList knows passwords that were stolen somewhere, by the SHA-1 of their
// UTF-8, which is how such lists are published.
//
// Has returns an error if it cannot read the list. It may be called concurrently.
type BreachList interface {
	Has(ctx context.Context, hash [sha1.Size]byte) (bool, error)
}

// Breaches refuse passwords that are in a list of stolen ones (NIST SP 800-63B-4
// section 3.1.1.2, OWASP ASVS 5.0, 6.2.12). A nil *Breaches refuses none.
//
// If the list cannot be read, a password is accepted: a failing disk must not prevent
// users from changing a password, which may itself be stolen. All other rules hold.
type Breaches struct {
	List BreachList
	// Unread, if set, receives why the list could not be asked, each time.
	Unread func(ctx context.Context, err error)
}

// problem is what is wrong with p, if the list has it as it was typed or in its
// normal form: people's keyboards and thieves' files differ in that.
func (b *Breaches) problem(ctx context.Context, p Password) (invalid.Field, bool) {
	if b == nil {
		return invalid.Field{}, false
	}
	for _, spelling := range p.spellings() {
		found, err := b.List.Has(ctx, sha1.Sum([]byte(spelling))) //nolint:gosec // as above
		if err != nil && b.Unread != nil && ctx.Err() == nil {
			b.Unread(ctx, err)
		}
		if found && err == nil {
			return invalid.Field{Field: "password", Code: CodeBreached, Message: "is in a list of stolen passwords, which guessers try first; choose one that you use nowhere else"}, true
		}
	}
	return invalid.Field{}, false
}
