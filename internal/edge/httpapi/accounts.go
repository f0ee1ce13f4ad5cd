package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// client is who asks, and from where, for what people do with their own accounts. A
// token in the header, living or not, shows that the device was logged in before;
// whatever else is there is of no use, and no reason to refuse.
func (s *server) client(c *gin.Context) *login.Client {
	who, _ := flakepass.FromContext(c.Request.Context()) // the zero identity on a route that needs no login
	out := &login.Client{By: actor(c, who), Admin: account.Role(who.Role) == account.RoleAdmin, Address: s.address(c)}
	if t, err := flakepass.Credential(c.Request.Header, s.TokenHeader); err == nil {
		out.Shows(t)
	}
	return out
}

func (s *server) register(c *gin.Context) error {
	noStore(c)
	if !s.RegistrationOpen {
		return errClosed
	}
	var in credentials
	if err := bind(c, &in); err != nil {
		return err
	}
	user, err := s.Own.Register(c.Request.Context(), s.client(c), string(in.Username), account.NewPassword(string(in.Password)))
	if err != nil {
		return err
	}
	return answer(c, http.StatusCreated, wire.Registered{Username: user.Username})
}

func (s *server) changePassword(c *gin.Context) error {
	var in struct {
		Current text `json:"current_password"`
		New     text `json:"new_password"`
		Code    text `json:"code"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	return done(c, s.Own.ChangePassword(c.Request.Context(), s.client(c),
		account.NewPassword(string(in.Current)), account.NewPassword(string(in.New)), secondfactor.NewCode(string(in.Code))))
}

// reauthenticate takes the password and the code of a user who is logged in once
// more, before what a token alone is not enough for.
func (s *server) reauthenticate(c *gin.Context) error {
	var in struct {
		Password text `json:"password"`
		Code     text `json:"code"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	return done(c, s.Own.Reauthenticate(c.Request.Context(), s.client(c), account.NewPassword(string(in.Password)), secondfactor.NewCode(string(in.Code))))
}

// useReset sets a password for who shows the token of a reset.
func (s *server) useReset(c *gin.Context) error {
	noStore(c)
	var in struct {
		Token text `json:"reset_token"`
		New   text `json:"new_password"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	return done(c, s.Own.SetByLink(c.Request.Context(), s.client(c), string(in.Token), account.NewPassword(string(in.New))))
}

// done answers for what has no answer of its own. What is wrong with a new password
// is wrong with the field that it came in.
func done(c *gin.Context, err error) error {
	if wrong, ok := errors.AsType[*invalid.Error](err); ok {
		return renamed(wrong)
	}
	if err == nil {
		c.Status(http.StatusNoContent)
	}
	return err
}

// renamed calls the field by the name that it has in this request.
func renamed(e *invalid.Error) error {
	out := &invalid.Error{}
	for _, f := range e.Fields {
		if f.Field == "password" {
			f.Field = "new_password"
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}
