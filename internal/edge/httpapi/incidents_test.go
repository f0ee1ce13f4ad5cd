package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// A ledger keeps the events of a Collector.
type ledger struct{ events []audit.Event }

func (l *ledger) AppendAll(_ context.Context, events []audit.Event) error {
	l.events = append(l.events, events...)
	return nil
}

func (l *ledger) NextN(_ context.Context, dst []idworker.ID) (int, error) { return len(dst), nil }

// TestRefusalsAreIncidents: each refusal that means something is an event, of
// whom it is about, with the request; a flood of one kind is one line of the log,
// and what a client without a token can send is none.
func TestRefusalsAreIncidents(t *testing.T) {
	of := func(err *flakepass.Refusal) error {
		return fmt.Errorf("session: verify: %w", &session.RefusedError{ID: 9, UserID: 7, Username: "zoë", Err: err})
	}
	for name, c := range map[string]struct {
		w                    *world
		method, path, body   string
		action               audit.Action
		reason, target, line string
	}{
		"expired":       {&world{verify: flakepass.ErrExpired}, "GET", "/v1/me", "", audit.TokenOutlived, "token_expired", "", "is over"},
		"idle":          {&world{verify: of(flakepass.ErrIdle)}, "GET", "/v1/verify", "", audit.TokenOutlived, "token_idle_timeout", "zoë", "is over"},
		"logged out":    {&world{verify: of(flakepass.ErrLoggedOut)}, "GET", "/v1/me", "", audit.TokenReused, "token_logged_out", "zoë", "was ended"},
		"revoked":       {&world{verify: flakepass.ErrRevoked}, "GET", "/v1/me", "", audit.TokenReused, "token_revoked", "", "was ended"},
		"made up":       {&world{verify: &session.RefusedError{ID: 9, Username: "zoë", Forged: true, Err: flakepass.ErrInvalid}}, "GET", "/v1/me", "", audit.TokenForged, "token_invalid", "zoë", "made up"},
		"unknown":       {&world{verify: flakepass.ErrInvalid}, "GET", "/v1/me", "", "", "", "", ""},
		"not decided":   {&world{verify: errors.New("away")}, "GET", "/v1/me", "", "", "", "", ""},
		"forbidden":     {&world{}, "GET", "/v1/admin/users", "", audit.AccessForbidden, "GET /v1/admin/users", "", ""},
		"wrong name":    {&world{login: account.ErrWrong}, "POST", "/v1/login", `{"username":"zed","password":"y"}`, audit.LoginFailed, "credentials_invalid", "", ""},
		"disabled":      {&world{login: &account.RefusedError{UserID: 7, Username: "zoë", Err: account.ErrDisabled}}, "POST", "/v1/login", `{"username":"zed","password":"y"}`, audit.LoginFailed, "account_disabled", "zoë", ""},
		"busy":          {&world{login: account.ErrBusy}, "POST", "/v1/login", `{"username":"zed","password":"y"}`, "", "", "", ""},
		"name taken":    {&world{register: account.ErrExists}, "POST", "/v1/register", `{"username":"zed","password":"violet tram sings at noon"}`, audit.RegistrationRefused, "username_taken", "", "registration refused"},
		"no password":   {&world{}, "POST", "/v1/register", `{"username":"zed","password":"y"}`, audit.RegistrationRefused, "validation_failed", "", "registration refused"},
		"stolen":        {&world{register: &invalid.Error{Fields: []invalid.Field{{Field: "password", Code: "breached", Message: "is stolen"}}}}, "POST", "/v1/register", `{"username":"zed","password":"violet tram sings at noon"}`, audit.RegistrationRefused, "validation_failed", "", "registration refused"},
		"queue full":    {&world{register: account.ErrBusy}, "POST", "/v1/register", `{"username":"zed","password":"violet tram sings at noon"}`, "", "", "", ""},
		"database away": {&world{login: errors.New("away")}, "POST", "/v1/login", `{"username":"zed","password":"y"}`, "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			kept := &ledger{}
			collector := &audit.Collector{Store: kept, IDs: kept, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
			h := handler(t, c.w, func(o *httpapi.Options) { o.Incidents, o.Log = collector, slog.New(slog.NewTextHandler(&log, nil)) })
			const times = 10
			for range times {
				ask(t, h, c.method, c.path, c.body)
			}
			collector.Close(t.Context())
			if c.action == "" {
				if len(kept.events) != 0 || strings.Contains(log.String(), "event=") {
					t.Errorf("on record: %+v\n%s", kept.events, &log)
				}
				return
			}
			if len(kept.events) != 1 {
				t.Fatalf("%d events, want 1: %+v", len(kept.events), kept.events)
			}
			e := kept.events[0]
			if e.Action != c.action || e.Reason != c.reason || e.Target.Name != c.target || e.By.Via != audit.ViaAPI || e.By.RequestID == "" ||
				!strings.Contains(string(e.New), fmt.Sprintf(`"count":%d,`, times)) {
				t.Errorf("on record: %+v %s", e, e.New)
			}
			lines := strings.Count(log.String(), "event="+string(c.action))
			if want := map[bool]int{true: 1, false: times}[c.line != ""]; lines != want || !strings.Contains(log.String(), c.line) {
				t.Errorf("%d lines, want %d\n%s", lines, want, &log)
			}
		})
	}
}
