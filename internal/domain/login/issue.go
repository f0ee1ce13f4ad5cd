package login

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const (
	// MaxAuthAge is how long ago an issuer may have authenticated a user: longer than people
	// stay logged in anywhere, and short enough to find a time in the wrong unit.
	MaxAuthAge = 90 * 24 * time.Hour
	// authSlack is how far ahead the clock of an issuer may be.
	authSlack = time.Minute
	// makeTries is how many names are tried for a user who is made.
	makeTries = 4
)

// ErrIssueRole means that the account is of an admin or a service, for which the key of the
// issuer opens no login.
var ErrIssueRole = errors.New("the key opens no logins of this role")

// An Issue is what an issuer asks for: a login of the one user whom exactly one of UserID,
// Username and ExternalID names.
type Issue struct {
	UserID     idworker.ID
	Username   string // with Create the name of a user who is made; it may be empty
	ExternalID string
	// Create makes a user with ExternalID if there is none: without a password, and with the
	// role user.
	Create bool

	Method   string    // one of [Service].Methods
	AuthTime time.Time // when the issuer has authenticated the user; zero: now
	Code     secondfactor.Code
	Instead  idworker.ID // a login of the user that ends for this one; 0: none
	AnyRole  bool        // the key may open logins of admins and services
	Request  *session.Request
}

// An IssuedLogin is a login that an issuer has opened.
type IssuedLogin struct {
	Begun
	Created bool // the user was made for it
}

// Issue opens a login of a user whom the caller, a service that acts by a key, has
// authenticated. From there on it is [Service.Login]: the second factor, the policy, the record
// and the counts are the same, and it fails as that does. There is no ticket: an issuer that gets
// a [secondfactor.ErrRequired] or a [*NoRoomError] asks again, with a code or with a login that
// ends. Only a code can be guessed, so only that is an attempt.
//
// It also fails with an [*invalid.Error], which is also for an external ID of a deleted user,
// [account.ErrNotFound], [account.ErrExists] if the name of a new user is taken, [ErrIssueRole],
// [session.ErrRequestReused] and [session.ErrRequestOver]; and as the check of the key does, which is
// made again in the transaction that makes a user, and in the one in which the login begins.
func (s *Service) Issue(ctx context.Context, c *Client, in Issue) (IssuedLogin, error) {
	how, err := s.check(&in)
	place := session.Place{Instead: in.Instead, Issued: &session.Issued{Auth: how, Request: in.Request}}
	var user account.User
	var created bool
	if err == nil {
		user, created, err = s.named(ctx, c, &in, place.Issued)
	}
	if err != nil {
		s.refused(ctx, c, &loggingIn, err)
		return IssuedLogin{}, err
	}
	var guess finder
	if !user.SecondFactorAt.Equal(place.Issued.Factor) && in.Code.Given() {
		guess = s.byID(user.ID, "issue")
	}
	first := true
	begun, err := s.begin(ctx, c, guess, "", place, &user, func(account.Asker, account.Found) (_ account.User, err error) {
		// What has changed since the first look is found when the login begins.
		if first {
			first, c.accepted = false, place.Issued.Factor // of this request before
		} else {
			now, err := s.Users.ByID(ctx, user.ID)
			if errors.Is(err, account.ErrNotFound) {
				return account.User{}, err
			}
			if err != nil {
				return account.User{}, fmt.Errorf("login: issue: %w", account.Undecided(err))
			}
			user = now
		}
		switch {
		case user.Disabled():
			err = account.ErrDisabled
		case user.Role != account.RoleUser && !in.AnyRole:
			err = ErrIssueRole
		default:
			err = s.code(ctx, c, &user, in.Code)
		}
		if err != nil {
			return account.User{}, refusedOf(&user, err)
		}
		place.Issued.Factor = user.SecondFactorAt
		return user, nil
	})
	if err == nil && s.Issued != nil {
		s.Issued(how.Method)
	}
	return IssuedLogin{begun, created}, err
}

// check returns an [*invalid.Error] with all that is wrong with in.
func (s *Service) check(in *Issue) (session.Auth, error) {
	wrong, now, named := &invalid.Error{}, s.Now(), 0
	for _, given := range []bool{in.UserID != 0, in.ExternalID != "", in.Username != "" && (!in.Create || in.ExternalID == "")} {
		if given {
			named++
		}
	}
	switch {
	case named != 1:
		wrong.Add("user_id", "ambiguous", "must name the user, or username or external_id must: exactly one of them; username may stand beside external_id with create")
	case in.Create && in.ExternalID == "":
		wrong.Add("external_id", account.CodeRequired, "must name the user who is to be made")
	}
	wrong.Take(account.CheckExternalID(in.ExternalID))
	if !slices.Contains(s.Methods, in.Method) {
		wrong.Add("method", account.CodeUnknown, "must be one of those that the operator allows: "+strings.Join(s.Methods, ", "))
	}
	switch at := in.AuthTime; {
	case at.IsZero():
	case at.After(now.Add(authSlack)):
		wrong.Add("auth_time", "out_of_range", "must not be in the future")
	case at.Before(now.Add(-MaxAuthAge)):
		wrong.Add("auth_time", "out_of_range", "must not be more than 90 days ago")
	case at.Before(now):
		now = at
	}
	return session.Auth{Method: in.Method, At: now.UTC().Truncate(time.Millisecond)}, wrong.OrNil()
}

// named returns the user for whom a login is to be opened. If the same request was sent before,
// this is the user for whom it has opened a login, or whom it has made; known.Again is then true, and
// known.Factor what was kept of the request. Otherwise it is the user whom in names. If there is no such user and
// in.Create is set, named makes the user. Of several calls at once, one makes the user, and the
// others find it.
func (s *Service) named(ctx context.Context, c *Client, in *Issue, known *session.Issued) (user account.User, created bool, err error) {
	if in.Request != nil {
		var id idworker.ID
		if id, known.Factor, err = s.Known.ByRequest(ctx, c.By.Key, in.Request); err == nil && id != 0 {
			known.Again = true
			user, err = s.Users.ByID(ctx, id)
			if in.Create && errors.Is(err, account.ErrNotFound) {
				err = errDeleted()
			}
		}
		if err != nil || id != 0 {
			return user, false, err
		}
	}
	for try := 1; ; try++ {
		user, err = s.find(ctx, in)
		if !errors.Is(err, account.ErrNotFound) || !in.Create {
			return user, false, err
		}
		user, err = s.make(ctx, c, in)
		if err == nil {
			s.log(ctx, c, "user made for an issuer", audit.UserCreated, "user_id", user.ID)
			return user, true, nil
		}
		// Another call may have made the user meanwhile, whatever this one failed with.
		found, again := s.find(ctx, in)
		if again == nil {
			return found, false, nil
		}
		if errors.Is(err, account.ErrOtherPerson) && errors.Is(again, account.ErrNotFound) {
			return account.User{}, false, errDeleted()
		}
		// A name that is made of an ID is taken only if somebody has guessed it.
		if !errors.Is(err, account.ErrExists) || in.Username != "" || try == makeTries {
			return account.User{}, false, err
		}
	}
}

// errDeleted refuses to make a user with the external ID of a deleted account that is not purged
// yet. A purge comes a day after the deletion at the earliest. By then no request from before the
// deletion is known any more.
func errDeleted() error {
	return invalid.Of("external_id", "conflict", "must not be that of an account that was deleted, until that is purged")
}

func (s *Service) find(ctx context.Context, in *Issue) (user account.User, err error) {
	switch {
	case in.UserID != 0:
		user, err = s.Users.ByID(ctx, in.UserID)
	case in.ExternalID != "":
		user, err = s.Known.ByExternalID(ctx, in.ExternalID)
	default:
		var name string
		if name, err = account.NormalizeUsername(in.Username); err != nil {
			return account.User{}, account.ErrNotFound // no user has it
		}
		user, err = s.Known.ByUsername(ctx, name)
	}
	if err != nil {
		return account.User{}, fmt.Errorf("login: issue: %w", err)
	}
	return user, nil
}

// make makes the user whom in names, with the event that the issuer has.
func (s *Service) make(ctx context.Context, c *Client, in *Issue) (account.User, error) {
	user, err := s.Newcomers.NewIssued(ctx, in.Username, in.ExternalID)
	if err != nil {
		return account.User{}, err
	}
	e, err := audit.New(ctx, s.IDs, c.By, audit.NeedsIssuer, audit.UserCreated, audit.AboutUser(user.ID, user.Username), "", nil, struct {
		Role       account.Role `json:"role"`
		ExternalID string       `json:"external_id"`
		Key        idworker.ID  `json:"key_id"`
	}{user.Role, user.ExternalID, c.By.Key})
	switch {
	case err != nil:
	case in.Request != nil:
		err = s.Known.CreateBy(ctx, c.By.Key, in.Request, user, e)
	default:
		err = s.Users.Create(ctx, user, e)
	}
	if err != nil {
		return account.User{}, fmt.Errorf("login: issue: make the user: %w", err)
	}
	return user, nil
}
