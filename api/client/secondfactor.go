package client

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// An Enrolment is a second factor that does not count yet.
type Enrolment struct {
	Secret Secret `json:"secret"`      // 160 bits in base32, to type into an app
	URI    Secret `json:"otpauth_uri"` // the same for a QR code
}

// Complete reports whether all is there.
func (e Enrolment) Complete() bool {
	return e.Secret.reveal() != "" && strings.HasPrefix(e.URI.reveal(), "otpauth://")
}

// EnrolSecondFactor begins to add a second factor to this client's own account; it
// counts once [Client.ConfirmSecondFactor] has shown a code. Another that was
// begun before is forgotten. It fails with [CurrentPasswordInvalid],
// [SecondFactorEnrolled], [SecondFactorOff], [RateLimited] or [Busy].
func (c *Client) EnrolSecondFactor(ctx context.Context, current Password) (Enrolment, error) {
	return ask[Enrolment](ctx, c, http.MethodPost, "/v1/me/second-factor", struct {
		Current string `json:"current_password"`
	}{current.reveal()})
}

type recoveryCodes struct {
	Codes []Secret `json:"recovery_codes"`
}

func (r recoveryCodes) Complete() bool { return len(r.Codes) > 0 }

// ConfirmSecondFactor makes the second factor count, by a code that the app shows,
// and returns the recovery codes, each of which stands for the app once. The login
// goes on. It fails with [CurrentCodeInvalid], [SecondFactorNotEnrolled],
// [SecondFactorEnrolled] or [RateLimited]. After [Unavailable], [InternalError] or
// no answer the result is unknown: see [Client.SecondFactor].
func (c *Client) ConfirmSecondFactor(ctx context.Context, code string) ([]Secret, error) {
	v, err := ask[recoveryCodes](ctx, c, http.MethodPost, "/v1/me/second-factor/confirm", struct {
		Code string `json:"code"`
	}{code})
	return v.Codes, err
}

// A FactorState describes the second factor of this client's own account.
type FactorState struct {
	Enrolled bool // a login needs a code
	Left     int  // recovery codes that were not used
}

// SecondFactor returns whether a login of this client's account needs a code, and how
// many recovery codes are left.
func (c *Client) SecondFactor(ctx context.Context) (FactorState, error) {
	v, err := get[wire.FactorState](ctx, c, read("/v1/me/second-factor", nil))
	if err != nil {
		return FactorState{}, err
	}
	return FactorState{*v.Enrolled, *v.Left}, nil
}

// RenewRecoveryCodes returns new recovery codes; none of before counts then, nor
// code, if that is one. The login goes on. It fails with [CurrentPasswordInvalid],
// [CurrentCodeInvalid], [SecondFactorNotEnrolled], [RateLimited] or [Busy]. After
// [Unavailable], [InternalError] or no answer it is unknown which ones count: call
// it again, with another code.
func (c *Client) RenewRecoveryCodes(ctx context.Context, current Password, code string) ([]Secret, error) {
	v, err := ask[recoveryCodes](ctx, c, http.MethodPost, "/v1/me/second-factor/recovery-codes", factorProof{current.reveal(), code})
	return v.Codes, err
}

type factorProof struct {
	Current string `json:"current_password"`
	Code    string `json:"code"`
}

// RemoveSecondFactor removes the second factor of this client's own account; code
// may be a recovery code. The login goes on. It fails with
// [CurrentPasswordInvalid], [CurrentCodeInvalid], [SecondFactorNotEnrolled],
// [PasswordTooShort], [RateLimited] or [Busy].
func (c *Client) RemoveSecondFactor(ctx context.Context, current Password, code string) error {
	_, err := c.act(ctx, http.MethodDelete, "/v1/me/second-factor", factorProof{current.reveal(), code})
	return err
}

// ChangePasswordWithCode is [Client.ChangePassword] for an account with a second
// factor. It fails with [CurrentCodeInvalid] as well.
func (c *Client) ChangePasswordWithCode(ctx context.Context, current, next Password, code string) error {
	_, err := c.act(ctx, http.MethodPut, "/v1/me/password", struct {
		Current string `json:"current_password"`
		New     string `json:"new_password"`
		Code    string `json:"code,omitempty"`
	}{current.reveal(), next.reveal(), code})
	return err
}

// RemoveUsersSecondFactor removes the second factor of a user who has lost it, and
// ends the login. Where there is none nothing happens. within is as
// [Client.Logout] returns it. It fails with [NotFound]. After a 5xx the result is unknown:
// call it again.
func (c *Client) RemoveUsersSecondFactor(ctx context.Context, id flakepass.ID, reason string) (within time.Duration, err error) {
	return c.act(ctx, http.MethodDelete, "/v1/admin/users/"+id.String()+"/second-factor", because{reason})
}
