package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/throttle"
)

func (s *server) register(c *gin.Context) error {
	noStore(c)
	if !s.RegistrationOpen {
		return errClosed
	}
	var in credentials
	if err := bind(c, &in); err != nil {
		return err
	}
	password := account.NewPassword(string(in.Password))
	if err := account.Unacceptable(string(in.Username), password); err != nil {
		s.registrationRefused(c, err)
		return err
	}
	from := s.address(c)
	if err := s.Gate.Register(c.Request.Context(), from); err != nil {
		s.sight(c, "registration refused", audit.Sighting{Action: audit.RegistrationHeld, Reason: reason(err)})
		return err
	}
	ctx := audit.NewContext(c.Request.Context(), actor(c, flakepass.Identity{})) // nobody yet
	user, err := s.Accounts.Register(ctx, account.Asker{Network: throttle.Network(from)}, string(in.Username), password, account.RoleUser)
	if err != nil {
		s.registrationRefused(c, err)
		return err
	}
	s.event(c, "registered", "user_id", user.ID, "event", audit.UserCreated)
	c.JSON(http.StatusCreated, struct {
		Username string `json:"username"`
	}{user.Username})
	return nil
}

func (s *server) changePassword(c *gin.Context) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	var in struct {
		Current text `json:"current_password"`
		New     text `json:"new_password"`
		Code    text `json:"code"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	given := account.NewPassword(string(in.Current))
	if err := current(account.Impossible(who.Username, given)); err != nil {
		s.passwordRefused(c, "password not changed", who, err)
		return err
	}
	try := s.attempt(c, who.Username) // the current password can be guessed here as well
	taken, err := s.Gate.Login(c.Request.Context(), try)
	if err != nil {
		s.passwordRefused(c, "password not changed", who, err)
		return err
	}
	err = s.Logins.ChangePassword(audit.NewContext(c.Request.Context(), actor(c, who)), asker(try, taken), session.UserOf(who), given, account.NewPassword(string(in.New)), secondfactor.NewCode(string(in.Code)))
	switch {
	case errors.Is(err, account.ErrWrong), errors.Is(err, secondfactor.ErrRequired), errors.Is(err, secondfactor.ErrInvalid):
		err = current(err)
		s.passwordRefused(c, "password not changed", who, err)
		return err
	case errors.Is(err, session.ErrUntold): // changed, and effective everywhere within the bound
		s.Gate.LoggedIn(c.Request.Context(), taken, session.UserOf(who))
		s.event(c, "password changed, word under way", "user_id", who.UserID, "err", err, "event", audit.PasswordChanged)
	case err != nil:
		if invalid, ok := errors.AsType[*account.InvalidError](err); ok { // the new one; the current one was right
			if !errors.Is(err, secondfactor.ErrUnchecked) {
				s.Gate.LoggedIn(c.Request.Context(), taken, session.UserOf(who))
			}
			return renamed(invalid)
		}
		s.unguessed(c.Request.Context(), taken, err)
		return err
	default:
		s.Gate.LoggedIn(c.Request.Context(), taken, session.UserOf(who))
		s.event(c, "password changed", "user_id", who.UserID, "event", audit.PasswordChanged)
	}
	c.Status(http.StatusNoContent)
	return nil
}

// renamed calls the field by the name that it has in this request.
func renamed(e *account.InvalidError) error {
	out := &account.InvalidError{}
	for _, f := range e.Fields {
		if f.Field == "password" {
			f.Field = "new_password"
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}
