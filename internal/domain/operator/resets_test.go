package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// drawer keeps resets of a desk in memory.
type drawer struct {
	*desk
	live map[idworker.ID]account.Reset
	by   audit.Event // of the last use
}

func newDrawer(t *testing.T) *drawer {
	d := &drawer{desk: newDesk(t), live: map[idworker.ID]account.Reset{}}
	d.users.Resets = d
	return d
}

func (d *drawer) StartReset(_ context.Context, r account.Reset, e audit.Event) error {
	d.live[r.UserID], d.events = r, append(d.events, e)
	return nil
}

func (d *drawer) CreateInvited(ctx context.Context, u account.User, r account.Reset, events ...audit.Event) error {
	err := d.Users.Create(ctx, u)
	if err == nil {
		d.live[r.UserID], d.events = r, append(d.events, events...)
	}
	return err
}

func (d *drawer) WithdrawReset(_ context.Context, id idworker.ID, _ time.Time, e audit.Event) error {
	if _, ok := d.live[id]; ok {
		d.events = append(d.events, e)
	}
	delete(d.live, id)
	return nil
}

func (d *drawer) ByReset(context.Context, account.ResetHash, time.Time) (account.User, account.Issuer, error) {
	return account.User{}, account.Issuer{}, account.ErrReset
}

func (d *drawer) UseReset(_ context.Context, r account.Reset, version int64, _ account.PHC, _ time.Time, e audit.Event) ([]session.Session, error) {
	d.by = e
	return []session.Session{{ID: idworker.ID(version), UserID: r.UserID}}, nil
}

func field(t *testing.T, err error) (name, code string) {
	t.Helper()
	wrong, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		t.Fatalf("%v, want an InvalidError", err)
	}
	return wrong.Fields[0].Field, wrong.Fields[0].Code
}

func TestResetIsStartedForAsLongAsSaid(t *testing.T) {
	d := newDrawer(t)
	id := d.add("alice", account.RoleUser)
	login := d.login(id, now)
	for life, want := range map[time.Duration]time.Duration{0: time.Hour, 10 * time.Minute: 10 * time.Minute, 24 * time.Hour: 24 * time.Hour} {
		r, err := d.users.StartReset(t.Context(), by, id, life, "forgot it")
		if err != nil {
			t.Fatal(err)
		}
		kept := d.live[id]
		if e := d.events[len(d.events)-1]; kept.ID != e.ID || kept.ID == 0 {
			t.Errorf("kept with ID %v, recorded with %v", kept.ID, e.ID)
		}
		if !r.ExpiresAt.Equal(now.Add(want).Truncate(time.Millisecond)) || !kept.ExpiresAt.Equal(r.ExpiresAt) || kept.Hash != r.Token.Hash() {
			t.Errorf("%v: until %v, kept until %v", life, r.ExpiresAt, kept.ExpiresAt)
		}
	}
	for life, want := range map[time.Duration]string{1: "too_short", 10*time.Minute - 1: "too_short", -time.Hour: "too_short", 24*time.Hour + 1: "too_long"} {
		_, err := d.users.StartReset(t.Context(), by, id, life, "")
		if name, code := field(t, err); name != "reset_lifetime_seconds" || code != want {
			t.Errorf("%v: %s %s", life, name, code)
		}
		if _, _, err := d.users.Invite(t.Context(), by, "bob", account.RoleUser, life, ""); err == nil {
			t.Errorf("%v: invited", life)
		}
	}
	if len(d.published) != 0 || !d.logins[0].Alive() || login.ID != d.logins[0].ID {
		t.Error("the login is over before the reset is used")
	}
	if _, err := d.users.StartReset(t.Context(), by, 12345, 0, ""); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("of an unknown user: %v", err)
	}
	if err := d.users.WithdrawReset(t.Context(), by, 12345, ""); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("of an unknown user: %v", err)
	}
	if _, err := d.users.StartReset(t.Context(), by, id, 0, strings.Repeat("x", 1001)); err == nil {
		t.Error("a reason of 1001 characters")
	}
}

// The record says who started and withdrew a reset, and never has a token.
func TestResetsLeaveARecord(t *testing.T) {
	d := newDrawer(t)
	root := audit.Actor{ID: 5, Name: "root", Via: audit.ViaAPI}
	u, r, err := d.users.Invite(t.Context(), root, "Bob", account.RoleService, 0, "new here")
	if err != nil || u.Username != "bob" || d.live[u.ID].Hash != r.Token.Hash() {
		t.Fatalf("%+v, %v", u, err)
	}
	if got, want := d.live[u.ID].Issuer, (account.Issuer{ID: 5, Name: "root"}); got != want {
		t.Errorf("issued by %+v, want %+v", got, want)
	}
	if err := d.users.WithdrawReset(t.Context(), root, u.ID, "found it"); err != nil {
		t.Fatal(err)
	}
	want := []audit.Event{
		{By: audit.Actor{Name: "root"}, Action: audit.UserCreated, Reason: "new here"},
		{By: audit.Actor{Name: "root"}, Action: audit.ResetStarted, Reason: "new here"},
		{By: audit.Actor{Name: "root"}, Action: audit.ResetWithdrawn, Reason: "found it"},
	}
	got := d.events
	if len(got) != len(want) {
		t.Fatalf("events: %+v", got)
	}
	ids := map[idworker.ID]bool{}
	for i, e := range got {
		ids[e.ID] = true
		if e.Action != want[i].Action || e.Reason != want[i].Reason || e.By.Name != want[i].By.Name || e.Target.ID != u.ID || e.Target.Name != "bob" {
			t.Errorf("event %d: %+v", i, e)
		}
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), r.Token.Reveal()[4:]) || strings.Contains(string(text), "hash") {
			t.Errorf("event %d: %s, %v", i, text, err)
		}
	}
	if len(ids) != len(want) {
		t.Errorf("%d IDs", len(ids))
	}
}
