package account

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// An Elsewhere is another system, which knows passwords of people who have none here.
//
// Ask asks it once, for a bounded time. If it was not asked, the error is [ErrUndecided];
// after any other error it may have compared the password, and the attempt is a guess. Both
// wrap [ErrElsewhere].
//
// Pass takes as long as a question whose answer is "wrong", and asks nothing. It fails with
// [ErrElsewhere] where a question would because so many are asked at once. Both may be called
// concurrently, and end early with ctx.
type Elsewhere interface {
	Ask(ctx context.Context, by Asker, q Question) (Said, error)
	Pass(ctx context.Context, by Asker) error
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

// An Arrival says what is to be written of a user whose password another system accepted.
type Arrival uint8

// The arrivals.
const (
	ArrivesNot  Arrival = iota // nothing
	ArrivesNew                 // the row
	ArrivesHere                // the hash, of a row without one
)

// asked is a question under way, or the time of one.
type asked struct {
	name   string
	leave  context.CancelFunc
	answer <-chan answered
}

type answered struct {
	Said
	err error
}

// ask begins to ask about a name beside the comparison of the password, so that an
// unknown name takes as long as the longer of the two. A name of which nobody is asked
// takes that time, too: see [Elsewhere.Pass].
func (s *Service) ask(ctx context.Context, by Asker, name string, u *User, p Password) *asked {
	ctx, leave := context.WithCancel(ctx)
	to := make(chan answered, 1)
	known, q := knownElsewhere(name, u, p), Question{name, u.ExternalID, p} // u changes meanwhile
	go func() {
		var a answered
		if known {
			a.Said, a.err = s.Elsewhere.Ask(ctx, by, q)
		} else {
			a.err = s.Elsewhere.Pass(ctx, by)
		}
		to <- a
	}()
	return &asked{name, leave, to}
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

// said waits for what was asked about a password that is not known here, and returns the
// user as it is to be written. [ErrWrong] is the answer for all names of which nobody was asked.
func (s *Service) said(ctx context.Context, by Asker, q *asked, u User, p Password) (User, error) {
	a := <-q.answer
	switch {
	case a.err != nil:
		return u, a.err
	case !a.Right:
		return u, ErrWrong
	case a.Disabled:
		return u, ErrDisabled
	case u.ID != 0 && a.ExternalID != u.ExternalID:
		// The name belongs to one person here and to another there.
		return u, Undecided(fmt.Errorf("%w: it has another external ID for this name", ErrElsewhere))
	}
	phc, err := s.Hasher.Hash(ctx, Asker{Network: by.Network, Known: true}, p)
	if err != nil {
		return u, Undecided(err)
	}
	u.Arrival, u.PasswordHash, u.UpdatedAt = ArrivesHere, phc, s.Now().UTC().Truncate(time.Millisecond)
	u.ImportedVersion = 1 // whatever the rules for new passwords are
	if u.ID == 0 {
		u.Arrival, u.Username, u.Role, u.ExternalID, u.PasswordVersion, u.CreatedAt = ArrivesNew, q.name, RoleUser, a.ExternalID, 1, u.UpdatedAt
		if u.ID, err = s.IDs.Next(ctx); err != nil {
			return User{}, Undecided(err)
		}
	}
	return u, nil
}
