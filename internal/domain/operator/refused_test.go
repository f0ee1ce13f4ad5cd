package operator_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// The API and the console record a refused credential alike. What anyone can send
// without a token, and what could not be decided, is not recorded.
func TestRefusedCredentialsAreOfOneKindAtEveryDoor(t *testing.T) {
	of := func(err *flakepass.Refusal, forged bool) error {
		return fmt.Errorf("session: verify: %w", &session.RefusedError{ID: 9, UserID: 7, Username: "zoë", Forged: forged, Err: err})
	}
	ofKey := func(err error, forged bool) error {
		return &servicekey.RefusedError{ID: 41, UserID: 9, Username: "billing", Forged: forged, Err: err}
	}
	for name, c := range map[string]struct {
		err    error
		action audit.Action
		reason string
		known  bool
	}{
		"over":              {of(flakepass.ErrIdle, false), audit.TokenOutlived, "token_idle_timeout", true},
		"over, of no user":  {flakepass.ErrExpired, audit.TokenOutlived, "token_expired", false},
		"ended":             {of(flakepass.ErrReplaced, false), audit.TokenReused, "token_replaced", true},
		"made up":           {of(flakepass.ErrInvalid, true), audit.TokenForged, "token_invalid", true},
		"two":               {fmt.Errorf("guard: %w", flakepass.ErrAmbiguous), audit.AccessAmbiguous, "credentials_ambiguous", false},
		"a key, revoked":    {ofKey(flakepass.ErrKeyRevoked, false), audit.KeyReused, "key_revoked", true},
		"a key, disabled":   {ofKey(flakepass.ErrAccountDisabled, false), audit.KeyReused, "account_disabled", true},
		"a key, expired":    {ofKey(flakepass.ErrKeyExpired, false), audit.KeyOutlived, "key_expired", true},
		"a key, made up":    {ofKey(flakepass.ErrKeyInvalid, true), audit.KeyForged, "key_invalid", true},
		"a key, no scope":   {ofKey(&servicekey.ScopeError{Needs: servicekey.Revoke}, false), "", "", true},
		"a key, unknown":    {flakepass.ErrKeyInvalid, "", "", false},
		"unknown":           {flakepass.ErrInvalid, "", "", false},
		"known, not forged": {of(flakepass.ErrInvalid, false), "", "", false},
		"missing":           {flakepass.ErrMissing, "", "", false},
		"malformed":         {flakepass.ErrMalformed, "", "", false},
		"undecided":         {errors.New("database away"), "", "", false},
		"none":              {nil, "", "", false},
	} {
		got, ok := operator.Refused(c.err)
		if ok != (c.action != "") {
			t.Errorf("%s: %+v, %v", name, got, ok)
			continue
		}
		if !ok {
			continue
		}
		if got.Action != c.action || got.Reason != c.reason || got.What == "" || (got.Target.ID == 9) != c.known || (len(got.Args) == 4) != c.known {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
