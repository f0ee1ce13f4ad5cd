package login

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Credentials are what a user logs in with.
type Credentials struct {
	Username string
	Password account.Password
	Code     secondfactor.Code // may be empty
	Only     account.Role      // the role that the login is for; empty: any
	Instead  idworker.ID       // a login of the user that ends for this one; 0: none
}

// Begun is a login that has begun.
type Begun struct {
	session.Opened
	DeviceCredential ratelimit.DeviceCredential // for the next login on the same device
}

// A NeedsCodeError is [secondfactor.ErrRequired], with the ticket that stands for
// the password when the code comes.
type NeedsCodeError struct{ Ticket secondfactor.Ticket }

// Error is that of [secondfactor.ErrRequired].
func (*NeedsCodeError) Error() string { return secondfactor.ErrRequired.Error() }

// Unwrap is [secondfactor.ErrRequired].
func (*NeedsCodeError) Unwrap() error { return secondfactor.ErrRequired }

// Login opens a login for the holder of that name and password, and of the second
// factor if there is one. It fails with [account.ErrWrong], [account.ErrDisabled] or
// [account.ErrBusy], with a [*ratelimit.LimitedError] and, if the password is right,
// with a [*NeedsCodeError], [secondfactor.ErrInvalid], [account.ErrShort], [ErrRole],
// [ErrServiceLogin] or a [*NoRoomError]. These come before a login begins, because that would end the login that the
// user has elsewhere.
func (s *Service) Login(ctx context.Context, c *Client, in Credentials) (Begun, error) {
	if err := account.Impossible(in.Username, in.Password); err != nil { // no guess, and costs nothing
		s.refused(ctx, c, &loggingIn, err)
		return Begun{}, err
	}
	find := func(ctx context.Context) (account.Found, error) { return s.Names.Find(ctx, in.Username) }
	return s.begin(ctx, c, find, in.Only, session.Place{Instead: in.Instead}, nil, func(by account.Asker, f account.Found) (account.User, error) {
		by.HereOnly = in.Only != "" && in.Only != account.RoleUser // no other system has an admin of ours
		user, err := s.Accounts.Authenticate(ctx, by, f, in.Password)
		if err == nil && user.Arrival != account.ArrivesNot {
			user, err = s.arrive(ctx, c, by, user, in)
		}
		if errors.Is(err, account.ErrOtherPerson) {
			n, _ := refusal(c, err)
			s.Log.WarnContext(ctx, "the import hook knows a person by another external ID, or by another name, than here; compare this user with the other system", "user_id", n.Target.ID, "err", err)
		}
		if err != nil {
			return account.User{}, err
		}
		if err := s.second(ctx, c, &user, in.Password, in.Code); err != nil {
			return account.User{}, refusedOf(&user, err)
		}
		return user, nil
	})
}

// Finish is the second half of a [Service.Login] that needs a code: it takes the code,
// and the ticket that stands for the password. It fails as Login does, and with
// [secondfactor.ErrTicket] if the ticket is too old, if a code was accepted since, or
// if the password or the factor has changed.
func (s *Service) Finish(ctx context.Context, c *Client, only account.Role, ticket string, code secondfactor.Code) (Begun, error) {
	return s.byTicket(ctx, c, only, ticket, code, false, 0)
}

// byTicket begins the login of the holder of a ticket. proven says that the ticket stands for
// all proofs, and not for the password alone; then the login begins in place of end.
func (s *Service) byTicket(ctx context.Context, c *Client, only account.Role, ticket string, code secondfactor.Code, proven bool, end idworker.ID) (Begun, error) {
	h, err := s.Codes.Redeem(ticket)
	if err == nil && proven != (h.Last != 0) {
		err = secondfactor.ErrTicket // it is for the other verb
	}
	if err != nil {
		s.refused(ctx, c, &loggingIn, err)
		return Begun{}, err
	}
	c.ticketUntil = h.Until
	// The account comes from the ticket: a client could send any name. Its ID counts, because
	// the user may have been renamed since.
	find := func(ctx context.Context) (account.Found, error) {
		f, err := s.byID(h.UserID, "holder of a ticket")(ctx)
		if errors.Is(err, account.ErrNotFound) {
			return account.Found{}, secondfactor.ErrTicket
		}
		return f, err
	}
	// The role is unknown where a limit or a failure comes before the user: the holder
	// of a ticket counts as a user of the required role.
	holder := &account.User{ID: h.UserID, Username: h.Username, Role: only}
	place := session.Place{Instead: end, Last: h.Last, ProofAge: h.Age(s.Now())}
	return s.begin(ctx, c, find, only, place, holder, func(_ account.Asker, f account.Found) (account.User, error) {
		return f.User, s.holds(ctx, c, &f.User, h, code)
	})
}

// holds returns nil if user holds a ticket, with the code that it needs, if it needs one.
func (s *Service) holds(ctx context.Context, c *Client, user *account.User, h secondfactor.Holder, code secondfactor.Code) (err error) {
	switch {
	case user.Disabled():
		err = account.ErrDisabled
	case user.PasswordVersion != h.PasswordVersion, h.Last == 0 && !user.HasSecondFactor():
		err = secondfactor.ErrTicket
	default:
		err = ofCode(s.Codes.CheckTicket(ctx, c.By, user, h, code))
	}
	if err != nil {
		return refusedOf(user, err)
	}
	return nil
}

// begin begins the login of the user whom show returns after all proofs. That is an attempt at
// the account that find finds; where nothing can be guessed, find is nil. holder is whose
// attempt it is if a limit refuses it; nil is nobody known.
func (s *Service) begin(ctx context.Context, c *Client, find finder, only account.Role, in session.Place, holder *account.User,
	show func(account.Asker, account.Found) (account.User, error)) (Begun, error) {
	var opened session.Opened
	var user account.User
	var asked *time.Time // for a deletion, as the first look found it
	do := func(by account.Asker, f account.Found) (_ account.User, err error) {
		if user, err = show(by, f); err != nil {
			return user, err
		}
		if asked == nil {
			asked = new(user.DeletionAskedAt)
		}
		// Of the logins that were begun before, none cancels a deletion (docs/deletion.md).
		if !user.DeletionAskedAt.Equal(*asked) {
			return user, refusedOf(&user, account.Undecided(errLeft))
		}
		opened, err = s.open(ctx, c, &user, only, in)
		return user, err
	}
	var err error
	if find != nil {
		err = s.attempt(ctx, c, find, do)
	} else {
		_, err = look(ctx, nil, account.Found{}, func(f account.Found) (account.User, error) { return do(c.asker(true), f) })
	}
	_, limited := errors.AsType[*ratelimit.LimitedError](err)
	_, known := errors.AsType[*account.RefusedError](err)
	if holder != nil && (limited || !known && errors.Is(err, account.ErrUndecided)) {
		err = refusedOf(holder, err)
	}
	s.count(err)
	if err != nil {
		s.refused(ctx, c, &loggingIn, err)
		return Begun{}, err
	}
	if s.Begun != nil {
		s.Begun(c.Device.ClassName())
	}
	who := &opened.Identity
	args := []any{"user_id", who.UserID, "session_id", who.SessionID}
	if c.Device != nil {
		args = append(args, "device_class", c.Device.Class) // the name is for people, and stands in the row
	}
	if opened.NewDevice {
		args = append(args, "new_device", true)
	}
	if in.Issued != nil {
		args = append(args, "auth_method", in.Issued.Method, "auth_time", in.Issued.At)
	}
	if opened.Repeats != 0 {
		args = append(args, "repeats", opened.Repeats)
	}
	if len(opened.Replaced) > 0 {
		args = append(args, "replaced", opened.Replaced)
	}
	s.log(ctx, c, loggingIn.done, loggingIn.event, args...)
	return Begun{opened, s.Attempts.NewDevice(c.attemptOf(&user))}, nil
}

// open begins the login of a user after all proofs.
func (s *Service) open(ctx context.Context, c *Client, user *account.User, only account.Role, in session.Place) (session.Opened, error) {
	if only != "" && user.Role != only {
		return session.Opened{}, refusedOf(user, ErrRole)
	}
	if in.Issued == nil && user.Role == account.RoleService && s.ByPassword != nil && !s.ByPassword(user) {
		return session.Opened{}, refusedOf(user, ErrServiceLogin)
	}
	in.Known = c.knownDevice
	opened, err := s.Sessions.Open(ctx, c.By, user.ID, user.PasswordVersion, c.Device, in)
	if full, ok := errors.AsType[*session.LimitError](err); ok {
		return session.Opened{}, refusedOf(user, s.noRoom(ctx, c, user, full, in.Issued == nil))
	}
	if errors.Is(err, session.ErrMoved) {
		return session.Opened{}, refusedOf(user, secondfactor.ErrTicket)
	}
	if err != nil {
		return session.Opened{}, refusedOf(user, afterProof("open", err))
	}
	return opened, nil
}

// count counts logins that begin and those that are refused, for people to look at.
func (s *Service) count(err error) {
	switch {
	case err == nil:
		s.Counts.Add(activity.Login, 1)
	case errors.Is(err, account.ErrWrong), errors.Is(err, account.ErrDisabled), errors.Is(err, ErrRole), errors.Is(err, ErrServiceLogin), errors.Is(err, ErrIssueRole),
		errors.Is(err, account.ErrShort), errors.Is(err, secondfactor.ErrInvalid):
		s.Counts.Add(activity.Refused, 1)
	}
}

// second makes the checks between the right password and a login. A password that is
// too short to be the only factor begins no login without another: it was chosen
// beside a second factor, which an admin has removed since, or it was imported, and the
// account has changed since. One that was imported into the account as it is does: its
// owner has no other, and nobody can tell the owner so before the login.
func (s *Service) second(ctx context.Context, c *Client, user *account.User, p account.Password, code secondfactor.Code) error {
	if !user.HasSecondFactor() {
		if !p.Alone() && !user.BroughtPassword() {
			return account.ErrShort
		}
		return nil
	}
	err := s.code(ctx, c, user, code)
	if errors.Is(err, secondfactor.ErrRequired) {
		ticket, err := s.Codes.Ticket(ctx, secondfactor.Holder{
			UserID: user.ID, Username: user.Username, PasswordVersion: user.PasswordVersion,
		})
		if err != nil { // and the password was right
			return account.Undecided(err)
		}
		return &NeedsCodeError{ticket}
	}
	return err
}
