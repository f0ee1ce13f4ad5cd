package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/render"
)

var errNoFactor = errors.New("an admin without a second factor")

// factorProblems is the part of problems that is about second factors.
var factorProblems = []knownProblem{
	{login.ErrCurrentCode, problem.Problem{Status: 403, Code: "current_code_invalid", Title: "code missing or not valid",
		Detail: "send a code of the second factor that was not used yet, or a recovery code once it is active, as code"}},
	{login.ErrKeepFactor, problem.Problem{Status: 409, Code: "password_too_short", Title: "password too short for an account without a second factor",
		Detail: "change the password to one of at least 15 characters first"}},
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
	has, err := s.Own.HasFactor(c.Request.Context(), s.client(c))
	if err == nil && !has {
		s.event(c, "admin without a second factor", "user_id", who.UserID, "route", c.FullPath())
		err = errNoFactor
	}
	return err
}

func (s *server) factor(c *gin.Context) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	state, err := s.FactorStates.State(c.Request.Context(), session.UserOf(who))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, wire.FactorState{Enrolled: &state.Enrolled, Left: &state.Left})
}

func (s *server) enrolFactor(c *gin.Context) error {
	var in struct {
		Current text `json:"current_password"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	e, err := s.Own.BeginFactor(c.Request.Context(), s.client(c), account.NewPassword(string(in.Current)))
	if err != nil {
		return err
	}
	return answer(c, http.StatusCreated, struct {
		Secret string `json:"secret"`
		URI    string `json:"otpauth_uri"`
	}{e.Secret.Reveal(), e.URI.Reveal()})
}

func (s *server) confirmFactor(c *gin.Context) error {
	var in struct {
		Code text `json:"code"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	codes, err := s.Own.ConfirmFactor(c.Request.Context(), s.client(c), secondfactor.NewCode(string(in.Code)))
	return showRecovery(c, codes, err)
}

func (s *server) renewRecovery(c *gin.Context) error {
	current, code, err := factorProof(c)
	if err != nil {
		return err
	}
	codes, err := s.Own.RenewRecovery(c.Request.Context(), s.client(c), current, code)
	return showRecovery(c, codes, err)
}

func (s *server) removeFactor(c *gin.Context) error {
	current, code, err := factorProof(c)
	if err != nil {
		return err
	}
	return done(c, s.Own.RemoveFactor(c.Request.Context(), s.client(c), current, code))
}

// factorProof reads a password and a code.
func factorProof(c *gin.Context) (account.Password, secondfactor.Code, error) {
	var in struct {
		Current text `json:"current_password"`
		Code    text `json:"code"`
	}
	err := bind(c, &in)
	return account.NewPassword(string(in.Current)), secondfactor.NewCode(string(in.Code)), err
}

// showRecovery answers with recovery codes, the only time that they are shown.
func showRecovery(c *gin.Context, codes []secondfactor.RecoveryCode, err error) error {
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, struct {
		Codes []string `json:"recovery_codes"`
	}{render.All(codes, (*secondfactor.RecoveryCode).Reveal)})
}

// removeUsersFactor is for a user who has lost it.
func (s *server) removeUsersFactor(c *gin.Context, id idworker.ID, reason string) error {
	_, err := s.People.Factors.RemoveSecondFactor(c.Request.Context(), s.operator(c), id, reason)
	return s.ended(c, err)
}
