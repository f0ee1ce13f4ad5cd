package httpapi_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestRefusedResetsAreIncidents: a token that opens nothing is on record, counted,
// with whose it was where that is known, and never itself.
func TestRefusedResetsAreIncidents(t *testing.T) {
	const times = 20
	disabled := &account.RefusedError{UserID: 7, Username: "zoë", Err: account.ErrDisabled}
	over := &account.RefusedError{UserID: 7, Username: "zoë", Issuer: account.Issuer{ID: 5, Name: "eve"}, Err: account.ErrReset}
	shell := &account.RefusedError{UserID: 7, Username: "zoë", Issuer: account.Issuer{Name: "root@host"}, Err: account.ErrReset}
	body := `{"reset_token":"` + resetToken.Reveal() + `","new_password":"` + password + `"}`
	for name, c := range map[string]struct {
		body           string
		err, limit     error
		reason, target string
	}{
		"used":                   {body, account.ErrReset, nil, "reset_token_invalid", ""},
		"no token":               {`{"reset_token":"planted","new_password":"x"}`, nil, nil, "reset_token_invalid", ""},
		"disabled":               {body, disabled, nil, "account_disabled", "zoë"},
		"its issuer is no admin": {body, over, nil, "reset_token_invalid: issued by user 5", "zoë"},
		"of a shell, and over":   {body, shell, nil, "reset_token_invalid: issued by root@host, in a shell", "zoë"},
		"too many":               {body, nil, &ratelimit.LimitedError{Limit: "reset", Rule: limit.Rule{Count: 30, Per: time.Minute}}, "rate_limited: reset", ""},
		"good":                   {body, nil, nil, "", ""},
		"away":                   {body, errors.New("away"), nil, "", ""},
		"no count":               {body, nil, errors.New("away"), "", ""},
	} {
		s, kept, log := &staff{err: c.err}, &ledger{}, &testenv.Journal{}
		s.limit = c.limit
		collector := &audit.Collector{Store: kept, IDs: kept, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		h := handler(t, &s.world, func(o *httpapi.Options) {
			o.Own.Links, o.Incidents, o.Log = s, collector, slog.New(slog.NewTextHandler(log, nil))
		})
		for range times {
			ask(t, h, "POST", "/v1/password-resets", c.body)
		}
		collector.Close(t.Context())
		if c.reason == "" {
			if len(kept.events) != 0 {
				t.Errorf("%s: on record: %+v", name, kept.events)
			}
			continue
		}
		if len(kept.events) != 1 {
			t.Errorf("%s: %d events, want 1", name, len(kept.events))
			continue
		}
		e := kept.events[0]
		if e.Action != audit.ResetRefused || e.Reason != c.reason || e.Target.Name != c.target || e.By.RequestID == "" || !strings.Contains(string(e.New), `"count":20,`) {
			t.Errorf("%s: on record: %+v %s", name, e, e.New)
		}
		if n := strings.Count(log.String(), "event=user.reset_refused"); n != times || strings.Contains(log.String(), "planted") || strings.Contains(log.String(), resetToken.Reveal()) {
			t.Errorf("%s: %d lines\n%s", name, n, log)
		}
	}
}
