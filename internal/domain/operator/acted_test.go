package operator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestVerbsLogWhoDidWhat: each verb logs one line, in the same words whichever way in
// it was asked for, and none if it is not done.
func TestVerbsLogWhoDidWhat(t *testing.T) {
	yes := true
	for want, do := range map[string]func(d *drawer, by audit.Actor, reason string) error{
		`"user created" user_id=* role=user`: func(d *drawer, by audit.Actor, reason string) error {
			_, err := d.users.Create(t.Context(), by, "grace", account.NewPassword(passphrase), account.RoleUser, reason)
			return err
		},
		`"user invited" user_id=* role=user expires_at=`: func(d *drawer, by audit.Actor, reason string) error {
			_, _, err := d.users.Invite(t.Context(), by, "grace", account.RoleUser, 0, reason)
			return err
		},
		`"user changed" user_id=* role=user disabled=true`: func(d *drawer, by audit.Actor, reason string) error {
			_, _, err := d.users.Change(t.Context(), by, d.rows[0].ID, operator.UserChange{Disabled: &yes, Reason: reason})
			return err
		},
		`"password set" user_id=*`: func(d *drawer, by audit.Actor, reason string) error {
			_, err := d.users.SetPassword(t.Context(), by, d.rows[0].ID, account.NewPassword(passphrase), reason)
			return err
		},
		`"password reset started" user_id=* expires_at=`: func(d *drawer, by audit.Actor, reason string) error {
			_, err := d.users.StartReset(t.Context(), by, d.rows[0].ID, 0, reason)
			return err
		},
		`"password reset withdrawn" user_id=*`: func(d *drawer, by audit.Actor, reason string) error {
			return d.users.WithdrawReset(t.Context(), by, d.rows[0].ID, reason)
		},
		`"password resets withdrawn" issuer_id=* withdrawn=1`: func(d *drawer, by audit.Actor, reason string) error {
			d.open = []account.OpenReset{{ID: 1, UserID: d.rows[0].ID}}
			_, err := d.users.WithdrawIssued(t.Context(), by, d.rows[0].ID, reason)
			return err
		},
		`"second factor removed" user_id=*`: func(d *drawer, by audit.Actor, reason string) error {
			d.Users.Change(d.rows[0].ID, func(u *account.User) { u.SecondFactorAt = now })
			_, err := d.users.RemoveSecondFactor(t.Context(), by, d.rows[0].ID, reason)
			return err
		},
		`"login ended" user_id=* session_id=* before=false`: func(d *drawer, by audit.Actor, reason string) error {
			_, err := d.users.Logout(t.Context(), by, d.rows[0].ID, "", reason)
			return err
		},
		`"all logins ended" floor=*`: func(d *drawer, by audit.Actor, reason string) error {
			_, err := d.sessions.EndAll(t.Context(), by, reason)
			return err
		},
	} {
		for via, where := range map[string]string{audit.ViaAPI: "", audit.ViaConsole: " via=console"} {
			by := audit.Actor{ID: 7, Name: "ada", Via: via, RequestID: "r1", Address: "192.0.2.1"}
			d := newDrawer(t)
			d.login(d.add("ada", account.RoleUser), now)
			var log bytes.Buffer
			d.sessions.Log = slog.New(slog.NewTextHandler(&log, nil))
			if err := do(d, by, strings.Repeat("x", audit.MaxReason+1)); err == nil || log.Len() > 0 {
				t.Errorf("not done: %v, and the log has %s", err, &log)
			}
			if err := do(d, by, ""); err != nil {
				t.Errorf("%s: %v", want, err)
			}
			line, rest := log.String(), ""
			for i, part := range strings.Split(want, "*") {
				var found bool
				if _, rest, found = strings.Cut(line, part); !found {
					t.Errorf("part %d of %s is not in %s", i, want, &log)
				}
				line = rest
			}
			if !strings.HasSuffix(line, " by=7 from=192.0.2.1 request_id=r1"+where+"\n") || strings.Count(log.String(), "\n") != 1 {
				t.Errorf("%s: the log has %s", want, &log)
			}
		}
	}
}

// TestUnpublishedEndIsReported: the end holds, and reaches them later.
func TestUnpublishedEndIsReported(t *testing.T) {
	d := newDrawer(t)
	s := d.login(d.add("ada", account.RoleUser), now)
	d.deaf = session.ErrUnpublished
	var log bytes.Buffer
	d.sessions.Log = slog.New(slog.NewTextHandler(&log, nil))
	if _, err := d.sessions.End(t.Context(), by, s.ID, ""); err == nil || !strings.Contains(log.String(), `msg="login ended, not published"`) {
		t.Errorf("%v, and the log has %s", err, &log)
	}
}

var errAway = errors.New("the database went away")

// awayAfter is a database that goes away when a change is committed.
type awayAfter struct{ *desk }

func (awayAfter) WithLogins(context.Context, idworker.ID) (u account.User, logins []session.Session, err error) {
	return u, nil, errAway
}

func (d awayAfter) OpenResets(ctx context.Context, issuer, before idworker.ID, limit int, now time.Time) ([]account.OpenReset, error) {
	if len(d.open) == 0 {
		return nil, errAway
	}
	return d.desk.OpenResets(ctx, issuer, before, limit, now)
}

// TestWhatIsDoneIsLoggedWhateverFollows: it is on record, so the log has its line, also if the caller gets an error.
func TestWhatIsDoneIsLoggedWhateverFollows(t *testing.T) {
	for want, do := range map[string]func(d *desk, id idworker.ID) error{
		`"user changed" user_id=* role=admin disabled=false`: func(d *desk, id idworker.ID) error {
			_, _, err := d.users.Change(t.Context(), by, id, operator.UserChange{Role: new(account.RoleAdmin)})
			return err
		},
		`"names changed" user_id=* renamed=false aliases=0`: func(d *desk, id idworker.ID) error {
			_, err := d.users.ChangeNames(t.Context(), by, id, operator.NameChange{Username: new("ada"), Aliases: &[]string{}})
			return err
		},
		`"password resets withdrawn" issuer_id=* withdrawn=1`: func(d *desk, id idworker.ID) error {
			d.open = []account.OpenReset{{ID: 1, UserID: id}}
			_, err := d.users.WithdrawIssued(t.Context(), by, id, "")
			return err
		},
	} {
		d := newDesk(t)
		id := d.add("ada", account.RoleUser)
		var log bytes.Buffer
		d.sessions.Log = slog.New(slog.NewTextHandler(&log, nil))
		d.users.Accounts, d.users.Open, d.users.Names = awayAfter{d}, awayAfter{d}, &namer{away: errAway}
		if err := do(d, id); !errors.Is(err, errAway) || !strings.Contains(log.String(), strings.Replace(want, "*", id.String(), 1)) {
			t.Errorf("%v, and the log has %q, want %s", err, &log, want)
		}
	}
}
