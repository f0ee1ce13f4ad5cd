package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// factors answer as a test has set.
type factors struct {
	has     bool
	left    int
	err     error
	removed []string
}

func (f *factors) Begin(context.Context, audit.Actor, *account.User) (secondfactor.Enrolment, error) {
	return secondfactor.Enrolment{}, f.err
}

func (f *factors) Confirm(context.Context, audit.Actor, *account.User, secondfactor.Code) ([]secondfactor.RecoveryCode, error) {
	return nil, f.err
}

func (f *factors) Remove(context.Context, audit.Actor, *account.User) error { return f.err }

func (f *factors) State(context.Context, idworker.ID) (secondfactor.State, error) {
	return secondfactor.State{Enrolled: f.has, Left: f.left}, f.err
}

func (f *factors) Renew(context.Context, audit.Actor, *account.User) ([]secondfactor.RecoveryCode, error) {
	return nil, f.err
}

func (f *factors) RemoveSecondFactor(_ context.Context, _ audit.Actor, user idworker.ID, reason string) ([]session.Session, error) {
	f.removed = append(f.removed, fmt.Sprint(user, " ", reason))
	return nil, f.err
}

func withFactors(f *factors) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.Own.Factors, o.FactorStates, o.People.Factors = f, f, f }
}

// Each refusal has its code; a wrong proof of a user who is logged in is no 401,
// which would make the app throw its token away.
func TestRefusalsOfSecondFactors(t *testing.T) {
	const proof = `{"current_password":"` + password + `","code":"123456"}`
	for _, c := range []struct {
		method, path, body string
		err                error
		want               string
	}{
		{"POST", "/v1/me/second-factor", `{"current_password":"x"}`, account.ErrWrong, "403 current_password_invalid"},
		{"POST", "/v1/me/second-factor", `{"current_password":"x"}`, secondfactor.ErrEnrolled, "409 second_factor_enrolled"},
		{"POST", "/v1/me/second-factor", `{"current_password":"x"}`, secondfactor.ErrOff, "403 second_factor_off"},
		{"POST", "/v1/me/second-factor", `{"current_password":"x","code":"1"}`, nil, "400 body_malformed"},
		{"POST", "/v1/me/second-factor/confirm", `{"code":"1"}`, secondfactor.ErrInvalid, "403 current_code_invalid"},
		{"POST", "/v1/me/second-factor/confirm", `{"code":"1"}`, secondfactor.ErrNotEnrolled, "409 second_factor_not_enrolled"},
		{"DELETE", "/v1/me/second-factor", proof, secondfactor.ErrRequired, "403 current_code_invalid"},
		{"DELETE", "/v1/me/second-factor", proof, account.ErrShort, "409 password_too_short"},
		{"DELETE", "/v1/me/second-factor", proof, secondfactor.ErrSealed, "503 unavailable"},
		{"DELETE", "/v1/me/second-factor", proof, errors.New("away"), "503 unavailable"},
		{"GET", "/v1/me/second-factor", "", errors.New("away"), "503 unavailable"},
		{"POST", "/v1/me/second-factor/recovery-codes", proof, account.ErrWrong, "403 current_password_invalid"},
		{"POST", "/v1/me/second-factor/recovery-codes", proof, secondfactor.ErrInvalid, "403 current_code_invalid"},
		{"POST", "/v1/me/second-factor/recovery-codes", proof, secondfactor.ErrNotEnrolled, "409 second_factor_not_enrolled"},
		{"POST", "/v1/me/second-factor/recovery-codes", proof, errors.New("away"), "503 unavailable"},
	} {
		w := &world{}
		resp, body := ask(t, handler(t, w, withFactors(&factors{err: c.err})), c.method, c.path, c.body)
		status, code, _ := strings.Cut(c.want, " ")
		if fmt.Sprint(resp) != status || !strings.Contains(body, `"code":"`+code+`"`) {
			t.Errorf("%s %s, %v: %d %s, want %s", c.method, c.path, c.err, resp, body, c.want)
		}
		if code == "current_code_invalid" && !strings.Contains(body, "a recovery code once it is active") { // before that there is none
			t.Errorf("%s %s: %s", c.method, c.path, body)
		}
		if len(w.known) != 0 {
			t.Errorf("%s %s: a refusal forgave the attempts", c.method, c.path)
		}
	}
}

// A code can be guessed wherever it is asked for, and every guess counts.
func TestEveryProofOfASecondFactorIsAnAttempt(t *testing.T) {
	for path, body := range map[string]string{
		"POST /v1/me/second-factor":                `{"current_password":"x"}`,
		"POST /v1/me/reauthenticate":               `{"password":"x"}`,
		"POST /v1/me/second-factor/confirm":        `{"code":"123456"}`,
		"POST /v1/me/second-factor/recovery-codes": `{"current_password":"x","code":"123456"}`,
		"DELETE /v1/me/second-factor":              `{"current_password":"x","code":"123456"}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		w := &world{limit: &ratelimit.LimitedError{Limit: "login-place", Retry: time.Second}}
		if status, _ := ask(t, handler(t, w, withFactors(&factors{})), method, path, body); status != 429 || len(w.tries) != 1 || w.tries[0].Account != who.Username {
			t.Errorf("%s %s: %d after %d attempts", method, path, status, len(w.tries))
		}
	}
}

// refusing refuses every code.
type refusing struct {
	login.Codes
	err error
}

func (r refusing) Check(context.Context, audit.Actor, *account.User, secondfactor.Code) error {
	return r.err
}

// A wrong password or code of a user who is logged in is on record, wherever it
// was given; what is no guess is given back.
func TestRefusedProofsOfASecondFactorAreIncidents(t *testing.T) {
	for _, c := range []struct {
		err    error
		reason string
		back   int
	}{
		{secondfactor.ErrInvalid, "current_code_invalid", 0},
		{secondfactor.ErrNotEnrolled, "", 1}, // it was there a moment ago
		{errors.New("away"), "", 1},
	} {
		w, kept := &world{}, &ledger{}
		collector := &audit.Collector{Store: kept, IDs: kept, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		h := handler(t, w, func(o *httpapi.Options) {
			withFactors(&factors{})(o)
			o.Own.Codes, o.Incidents = refusing{err: c.err}, collector
		})
		ask(t, h, "DELETE", "/v1/me/second-factor", `{"current_password":"`+password+`","code":"123456"}`)
		collector.Close(t.Context())
		var reason string
		if len(kept.events) > 0 && kept.events[0].Action == audit.PasswordRefused && kept.events[0].Target.ID == session.UserOf(who) {
			reason = kept.events[0].Reason
		}
		if reason != c.reason || (reason == "") != (len(kept.events) == 0) || w.returned != c.back {
			t.Errorf("%v: on record: %+v, %d given back", c.err, kept.events, w.returned)
		}
	}
}

// Who knows the password only must not win new guesses at the code by asking for a
// bad new password.
func TestABadNewPasswordForgivesNoGuessesAtTheCode(t *testing.T) {
	wrong := &invalid.Error{Fields: []invalid.Field{{Field: "password", Code: account.CodeTooShort, Message: "must be longer"}}}
	const change = `{"current_password":"x","new_password":"y","code":"123456"}`
	for err, forgiven := range map[error]int{
		error(wrong): 1, fmt.Errorf("%w: %w", wrong, secondfactor.ErrUnchecked): 0, secondfactor.ErrInvalid: 0,
	} {
		w := &world{change: err}
		if status, body := ask(t, handler(t, w, withFactors(&factors{})), "PUT", "/v1/me/password", change); status < 400 || len(w.known) != forgiven {
			t.Errorf("%v: %d %s, forgiven %d times, want %d", err, status, body, len(w.known), forgiven)
		}
	}
}

// Where admins need a second factor, one without has the own account, to add one, and no
// rights of an admin. TestEveryRouteIsForWhomTheTableSays has each route.
func TestAnAdminWithoutASecondFactorHasTheOwnAccountOnly(t *testing.T) {
	need := func(f *factors) func(*httpapi.Options) {
		return func(o *httpapi.Options) { withFactors(f)(o); o.AdminsNeedFactor = true }
	}
	for _, c := range []struct {
		role         string
		f            factors
		method, path string
		want         int
	}{
		{"admin", factors{}, "GET", "/v1/admin/sweeps", 403},
		{"admin", factors{}, "POST", "/v1/verifications", 403},
		{"admin", factors{has: true}, "GET", "/v1/admin/sweeps", 200},
		{"admin", factors{err: errors.New("away")}, "GET", "/v1/admin/sweeps", 503},
		{"admin", factors{}, "GET", "/v1/me", 200},
		{"admin", factors{}, "GET", "/v1/me/second-factor", 200},
		{"service", factors{}, "POST", "/v1/verifications", 400},
		{"user", factors{}, "GET", "/v1/me", 200},
	} {
		status, body := ask(t, handler(t, &world{role: c.role, plain: !c.f.has, unread: c.f.err}, need(&c.f)), c.method, c.path, "")
		if status != c.want || status == 403 && !strings.Contains(body, `"code":"second_factor_missing"`) {
			t.Errorf("%s, %+v: %s %s: %d %s, want %d", c.role, c.f, c.method, c.path, status, body, c.want)
		}
	}
	if status, _ := ask(t, handler(t, &world{role: "admin"}, withFactors(&factors{})), "GET", "/v1/admin/sweeps", ""); status != 200 {
		t.Errorf("where they need none: %d", status)
	}
}

func TestTheFactorSaysHowManyRecoveryCodesAreLeft(t *testing.T) {
	for want, f := range map[string]factors{
		`{"enrolled":false,"recovery_codes_left":0}`: {},
		`{"enrolled":true,"recovery_codes_left":3}`:  {has: true, left: 3},
	} {
		if status, body := ask(t, handler(t, &world{}, withFactors(&f)), "GET", "/v1/me/second-factor", ""); status != 200 || strings.TrimSpace(body) != want {
			t.Errorf("%d %s, want %s", status, body, want)
		}
	}
}
