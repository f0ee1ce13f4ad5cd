package account

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An Elsewhere is another system, which knows passwords of people who have none here.
//
// Ask asks it once, for a bounded time, and ends early with ctx. An error means that it has not said
// whether the password is right, and is [ErrElsewhere] unless ctx has ended. The attempt is a guess all the same: the
// password may have been compared there, and for all names of which it is not asked it was
// compared here. Ask may be called concurrently.
type Elsewhere interface {
	Ask(ctx context.Context, by Asker, q Question) (Said, error)
}

// A Question is whether a password is that of the user with that name. It cannot print the
// password.
type Question struct {
	Username   string // in its normal form
	ExternalID string // what the other system calls the user, if that is known here
	password   Password
}

// Reveal is the password as it was typed. It belongs in the question and nowhere else.
func (q Question) Reveal() string { return q.password.spelled(true) }

// Said is the answer of another system. The zero one is "wrong".
type Said struct {
	Right      bool
	ExternalID string // may be empty
	Disabled   bool   // the user may not log in there
}

// ErrElsewhere means that the other system knows whether the password is right, and did not
// say so. Trying again later helps.
var ErrElsewhere = errors.New("another system has to say whether the password is right, and does not")

// ErrOtherPerson is an [ErrElsewhere] that only an operator can mend: the other system says that the
// password is right, of a person who is another user here than the one of that name.
var ErrOtherPerson = fmt.Errorf("%w: its external ID is not that of the user with this name here", ErrElsewhere)

// An Arrival says what is to be written of a user whose password another system accepted.
type Arrival uint8

// The arrivals.
const (
	ArrivesNot  Arrival = iota // nothing
	ArrivesNew                 // the row
	ArrivesHere                // the hash, of a row without one
)

// elsewhere asks another system about a password that is not known here, and returns the
// user as it is to be written. It asks after the password was compared here, so the right password of an
// account waits for nobody, and what had no place in the pool was not asked about.
//
// Each name that is refused was asked about, or a made-up one in its place. So a refusal has the same time, the
// same load of the other system and the same failures, whether or not there is an account.
func (s *Service) elsewhere(ctx context.Context, by Asker, name string, u User, p Password) (User, error) {
	if u.ID != 0 {
		name = u.Username // whichever of the names was typed
	}
	known, q := knownElsewhere(name, &u, p), Question{name, u.ExternalID, p}
	if !known {
		q = madeUp(name, p)
	}
	a, err := s.Elsewhere.Ask(ctx, by, q)
	switch {
	case err != nil:
		return u, err
	case !known || !a.Right:
		return u, ErrWrong
	case a.Disabled:
		return u, ErrDisabled
	case u.ID != 0 && a.ExternalID != u.ExternalID:
		// The name belongs to one person here and to another there.
		return u, Undecided(ErrOtherPerson)
	}
	phc, err := s.Hasher.Hash(ctx, Asker{Network: by.Network, Known: true}, p)
	if err != nil {
		return u, Undecided(err)
	}
	u.Arrival, u.PasswordHash, u.UpdatedAt = ArrivesHere, phc, s.Now().UTC().Truncate(time.Millisecond)
	u.ImportedVersion = 1 // whatever the rules for new passwords are
	if u.ID == 0 {
		u.Arrival, u.Username, u.Role, u.ExternalID, u.PasswordVersion, u.CreatedAt = ArrivesNew, name, RoleUser, a.ExternalID, 1, u.UpdatedAt
		u.CountedByID = true
		if u.ID, err = s.IDs.Next(ctx); err != nil {
			return User{}, Undecided(err)
		}
	}
	return u, nil
}

// madeUp is a question about a name that nobody has, with nothing of what was typed but how long the characters of the password
// are, and what is behind the @ of the name: another system may treat these in another way.
func madeUp(name string, p Password) Question {
	made := strings.ToLower(rand.Text())
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		made += name[at:]
	}
	shape := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return r
		}
		return [...]rune{1: 'x', 2: 'é', 3: '中', 4: '🔑'}[utf8.RuneLen(r)]
	}, p.spelled(true))
	return Question{Username: made, password: NewPassword(shape)}
}

// knownElsewhere reports whether another system is asked about a name. It is asked about
// names that nobody has here, and about users of whom the row says that the other system
// knows them (their external ID) and that nothing has happened to their password here (the first version).
// So an account that an operator has made or invited, or that had a password
// here, is not opened by what another system says; nor is one with any right
// beyond its own login, or a disabled one.
func knownElsewhere(name string, u *User, p Password) bool {
	text := p.spelled(true)
	switch {
	case text == "" || !utf8.ValidString(text): // JSON cannot carry it
		return false
	case u.ID == 0:
		_, err := NormalizeUsername(name) // an alias makes no account
		return err == nil
	}
	return u.PasswordHash.IsZero() && u.ExternalID != "" && u.PasswordVersion == 1 && u.Role == RoleUser && !u.Disabled()
}
