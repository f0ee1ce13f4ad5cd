package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// SecondFactors are the verbs of people about their own second factors.
// *login.Service has them.
type SecondFactors interface {
	HasFactor(ctx context.Context, id idworker.ID) (bool, error)
	EnrolFactor(ctx context.Context, by account.Asker, id idworker.ID, current account.Password) (secondfactor.Enrolment, error)
	ConfirmFactor(ctx context.Context, id idworker.ID, code secondfactor.Code) ([]secondfactor.RecoveryCode, error)
	RemoveFactor(ctx context.Context, by account.Asker, id idworker.ID, current account.Password, code secondfactor.Code) error
	RecoveryCodes
}

// AdminSecondFactors removes the second factor of somebody who has lost it, and
// ends the login. It returns the session that ended, whose ID is 0 if none did.
type AdminSecondFactors interface {
	RemoveSecondFactor(ctx context.Context, by audit.Actor, user idworker.ID, reason string) (session.Session, error)
}

var (
	// A 401 would make an app throw its token away.
	errCurrentCode = errors.New("code of the second factor is wrong")
	errKeepFactor  = errors.New("the password is too short to be the only factor")
	errNoFactor    = errors.New("an admin without a second factor")
)

// toldFactor is the part of told that is about second factors.
var toldFactor = []toldProblem{
	{secondfactor.ErrRequired, problem.Problem{Status: 401, Code: "second_factor_required", Title: "a code is needed",
		Detail: "send it again with the code of the second factor as code"}},
	{secondfactor.ErrInvalid, problem.Problem{Status: 401, Code: "second_factor_invalid", Title: "code not valid",
		Detail: "each code works once and for about a minute; send the next one, or a recovery code"}},
	{secondfactor.ErrOff, problem.Problem{Status: 403, Code: "second_factor_off", Title: "no second factor can be added here",
		Detail: "an administrator has to set FLAKEPASS_SECOND_FACTOR_KEY"}},
	{secondfactor.ErrEnrolled, problem.Problem{Status: 409, Code: "second_factor_enrolled", Title: "there is a second factor already",
		Detail: "remove it first"}},
	{secondfactor.ErrNotEnrolled, problem.Problem{Status: 409, Code: "second_factor_not_enrolled", Title: "there is no second factor",
		Detail: "add one first"}},
	{errCurrentCode, problem.Problem{Status: 403, Code: "current_code_invalid", Title: "code missing or not valid",
		Detail: "send a code of the second factor that was not used yet, or a recovery code, as code"}},
	{errKeepFactor, problem.Problem{Status: 409, Code: "password_too_short", Title: "password too short for an account without a second factor",
		Detail: "change the password to one of at least 15 characters first"}},
	{errNoFactor, problem.Problem{Status: 403, Code: "second_factor_missing", Title: "admins need a second factor here",
		Detail: "add one at /v1/me/second-factor, or in the console"}},
	{account.ErrShort, problem.Problem{Status: 403, Code: "password_reset_required", Title: "password too short without a second factor",
		Detail: "ask an administrator to set a new one"}},
}

func (s *server) factorRoutes(mine gin.IRouter) {
	mine.GET("/me/second-factor", s.do(s.factor))
	mine.POST("/me/second-factor", s.do(s.enrolFactor))
	mine.DELETE("/me/second-factor", s.do(s.removeFactor))
	mine.POST("/me/second-factor/confirm", s.do(s.confirmFactor))
	mine.POST("/me/second-factor/recovery-codes", s.do(s.renewRecovery))
}

// needsFactor refuses an admin without a second factor where admins need one.
func (s *server) needsFactor(c *gin.Context, who flakepass.Identity) error {
	if !s.AdminsNeedFactor || account.Role(who.Role) != account.RoleAdmin {
		return nil
	}
	has, err := s.SecondFactors.HasFactor(c.Request.Context(), session.UserOf(who))
	if err == nil && !has {
		s.event(c, "admin without a second factor", "user_id", who.UserID, "route", c.FullPath())
		err = errNoFactor
	}
	return err
}

func (s *server) enrolFactor(c *gin.Context) error {
	var in struct {
		Current text `json:"current_password"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	given := account.NewPassword(string(in.Current))
	return s.prove(c, proving{"second factor begun", factorUnchanged, ""}, given, func(ctx context.Context, by account.Asker, who flakepass.Identity) (func(), error) {
		e, err := s.SecondFactors.EnrolFactor(ctx, by, session.UserOf(who), given)
		return func() {
			c.JSON(http.StatusCreated, struct {
				Secret string `json:"secret"`
				URI    string `json:"otpauth_uri"`
			}{e.Secret.Reveal(), e.URI.Reveal()})
		}, err
	})
}

func (s *server) confirmFactor(c *gin.Context) error {
	var in struct {
		Code text `json:"code"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	return s.prove(c, proving{"second factor added", factorUnchanged, audit.SecondFactorEnrolled}, account.Password{}, func(ctx context.Context, _ account.Asker, who flakepass.Identity) (func(), error) {
		codes, err := s.SecondFactors.ConfirmFactor(ctx, session.UserOf(who), secondfactor.NewCode(string(in.Code)))
		return func() { showRecovery(c, codes) }, err
	})
}

func (s *server) removeFactor(c *gin.Context) error {
	in, err := factorProof(c)
	if err != nil {
		return err
	}
	return s.prove(c, proving{"second factor removed", factorUnchanged, audit.SecondFactorRemoved}, in.current, func(ctx context.Context, by account.Asker, who flakepass.Identity) (func(), error) {
		err := s.SecondFactors.RemoveFactor(ctx, by, session.UserOf(who), in.current, in.code)
		return func() { c.Status(http.StatusNoContent) }, err
	})
}

// proving is what the log and the record call what a person has to prove something
// for. event is empty for what is not on record.
type proving struct {
	done, not string
	event     audit.Action
}

const factorUnchanged = "second factor not changed"

// prove does what a person has to prove something for, which counts as an attempt
// to log in: passwords and codes can be guessed here as well. given is the password,
// or the zero one where only a code is asked for: one that can be nobody's is no
// guess, and costs nothing. What do returns answers.
func (s *server) prove(c *gin.Context, about proving, given account.Password, do func(context.Context, account.Asker, flakepass.Identity) (func(), error)) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	if err := current(account.Impossible(who.Username, given)); err != nil {
		s.passwordRefused(c, about.not, who, err)
		return err
	}
	ctx := audit.NewContext(c.Request.Context(), actor(c, who))
	try := s.attempt(c, who.Username)
	taken, err := s.Gate.Login(ctx, try)
	if err != nil {
		s.passwordRefused(c, about.not, who, err)
		return err
	}
	answer, err := do(ctx, asker(try, taken), who)
	if err != nil {
		s.unguessed(ctx, taken, err)
		if errors.Is(err, account.ErrShort) {
			err = errKeepFactor // the password is right
		}
		if err = current(err); errors.Is(err, errCurrent) || errors.Is(err, errCurrentCode) {
			s.passwordRefused(c, about.not, who, err)
			return err
		}
		s.event(c, about.not, "user_id", who.UserID, "reason", reason(err))
		return err
	}
	s.Gate.LoggedIn(ctx, taken, session.UserOf(who))
	args := []any{"user_id", who.UserID}
	if about.event != "" {
		args = append(args, "event", about.event)
	}
	s.event(c, about.done, args...)
	answer()
	return nil
}

// current is the refusal of a proof by somebody who is logged in.
func current(err error) error {
	switch {
	case errors.Is(err, account.ErrWrong):
		return errCurrent
	case errors.Is(err, secondfactor.ErrRequired), errors.Is(err, secondfactor.ErrInvalid):
		return errCurrentCode
	}
	return err
}

// removeUsersFactor is for a user who has lost it.
func (s *server) removeUsersFactor(c *gin.Context) error {
	id, reason, err := idAndReason(c)
	if err != nil {
		return err
	}
	_, err = s.People.Factors.RemoveSecondFactor(c.Request.Context(), s.operator(c), id, reason)
	return s.ended(c, err)
}
