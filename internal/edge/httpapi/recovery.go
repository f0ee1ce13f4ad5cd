package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// RecoveryCodes says how many recovery codes are left, and makes new ones in their
// place.
type RecoveryCodes interface {
	FactorState(ctx context.Context, id idworker.ID) (secondfactor.State, error)
	RenewRecovery(ctx context.Context, by account.Asker, id idworker.ID, current account.Password, code secondfactor.Code) ([]secondfactor.RecoveryCode, error)
}

func (s *server) factor(c *gin.Context) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	state, err := s.SecondFactors.FactorState(c.Request.Context(), session.UserOf(who))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, struct {
		Enrolled bool `json:"enrolled"`
		Left     int  `json:"recovery_codes_left"`
	}{state.Enrolled, state.Left})
	return nil
}

func (s *server) renewRecovery(c *gin.Context) error {
	in, err := factorProof(c)
	if err != nil {
		return err
	}
	return s.prove(c, proving{"recovery codes renewed", factorUnchanged, audit.RecoveryCodesRenewed}, in.current, func(ctx context.Context, by account.Asker, who flakepass.Identity) (func(), error) {
		codes, err := s.SecondFactors.RenewRecovery(ctx, by, session.UserOf(who), in.current, in.code)
		return func() { showRecovery(c, codes) }, err
	})
}

type proof struct {
	current account.Password
	code    secondfactor.Code
}

// factorProof reads a password and a code.
func factorProof(c *gin.Context) (proof, error) {
	var in struct {
		Current text `json:"current_password"`
		Code    text `json:"code"`
	}
	err := bind(c, &in)
	return proof{account.NewPassword(string(in.Current)), secondfactor.NewCode(string(in.Code))}, err
}

// showRecovery answers with recovery codes, the only time that they are shown.
func showRecovery(c *gin.Context, codes []secondfactor.RecoveryCode) {
	out := struct {
		Codes []string `json:"recovery_codes"`
	}{make([]string, len(codes))}
	for i := range codes {
		out.Codes[i] = codes[i].Reveal()
	}
	c.JSON(http.StatusOK, out)
}
