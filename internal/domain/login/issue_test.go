package login_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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
)

// issuer is a service that acts by a key.
func issuer() *login.Client {
	return &login.Client{
		By:      audit.Actor{ID: 77, Key: 78, Name: "sms-backend", Via: audit.ViaAPI, RequestID: "r", Address: "198.51.100.1"},
		Address: netip.MustParseAddr("192.0.2.9"),
	}
}

func (w *world) issue(in login.Issue) (login.IssuedLogin, error) {
	if in.Method == "" {
		in.Method = "sms"
	}
	return w.login.Issue(w.t.Context(), issuer(), in)
}

// TestIssueNamesOneUser: by one of three, and says what is wrong with all that it has.
func TestIssueNamesOneUser(t *testing.T) {
	w := newWorld(t)
	w.users.Change(w.user.ID, func(u *account.User) { u.ExternalID = "crm-1" })
	for _, in := range []login.Issue{{UserID: w.user.ID}, {Username: "ALICE"}, {ExternalID: "crm-1"}, {ExternalID: "crm-1", Create: true, Username: "bob"}} {
		got, err := w.issue(in)
		if err != nil || session.UserOf(got.Identity) != w.user.ID || got.Created {
			t.Errorf("%+v: %+v, %v", in, got, err)
		}
		if issued := w.sessions.in.Issued; issued == nil || issued.Method != "sms" || time.Since(issued.At) > time.Minute {
			t.Errorf("%+v: opened as %+v", in, issued)
		}
	}
	opened, now := w.sessions.opened, time.Now()
	for want, in := range map[string]login.Issue{
		"user_id ambiguous":              {},
		" user_id ambiguous":             {UserID: w.user.ID, Username: "alice"},
		"  user_id ambiguous":            {UserID: w.user.ID, ExternalID: "crm-1", Create: true},
		"   user_id ambiguous":           {Username: "alice", ExternalID: "crm-1"},
		"external_id required":           {UserID: w.user.ID, Create: true},
		" external_id required":          {Username: "bob", Create: true},
		"external_id invalid_characters": {ExternalID: " x"},
		"method unknown":                 {UserID: w.user.ID, Method: "pwd"},
		"auth_time out_of_range":         {UserID: w.user.ID, AuthTime: now.Add(2 * time.Minute)},
		" auth_time out_of_range":        {UserID: w.user.ID, AuthTime: now.Add(-login.MaxAuthAge - time.Minute)},
	} {
		_, err := w.issue(in)
		wrong, ok := errors.AsType[*invalid.Error](err)
		if field, code, _ := strings.Cut(strings.TrimSpace(want), " "); !ok || len(wrong.Fields) != 1 || wrong.Fields[0].Field != field || !strings.HasPrefix(wrong.Fields[0].Code, code) {
			t.Errorf("%+v: %v, want %s", in, err, want)
		}
	}
	if _, err := w.issue(login.Issue{Username: "nobody.here"}); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	if w.sessions.opened != opened || len(w.refusals) != 0 || w.limits.tried != 0 {
		t.Errorf("%d opened, %d on record, %d tried", w.sessions.opened-opened, len(w.refusals), w.limits.tried)
	}
	// The clock of an issuer may be ahead; what is kept is not.
	if _, err := w.issue(login.Issue{UserID: w.user.ID, AuthTime: now.Add(30 * time.Second)}); err != nil || w.sessions.in.Issued.At.After(time.Now()) {
		t.Errorf("a clock that is ahead: %v, at %v", err, w.sessions.in.Issued.At)
	}
	at := now.Add(-time.Hour)
	if _, err := w.issue(login.Issue{UserID: w.user.ID, AuthTime: at}); err != nil || !w.sessions.in.Issued.At.Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("an hour ago: %v, at %v", err, w.sessions.in.Issued.At)
	}
}

// TestIssueIsForUsers: a login of an admin or a service is refused and on record, unless the key
// may open it; so is one of a disabled account. Nothing has ended then.
func TestIssueIsForUsers(t *testing.T) {
	w := newWorld(t)
	w.login.ByPassword = func(*account.User) bool { return false } // that is about passwords
	for _, role := range []account.Role{account.RoleAdmin, account.RoleService} {
		w.refusals = nil
		w.users.Change(w.user.ID, func(u *account.User) { u.Role = role })
		_, err := w.issue(login.Issue{UserID: w.user.ID})
		if !errors.Is(err, login.ErrIssueRole) || w.sessions.opened != 0 {
			t.Errorf("%s: %v, %d opened", role, err, w.sessions.opened)
		}
		if len(w.refusals) != 1 || w.refusals[0].Reason != "role_not_issuable" || w.refusals[0].Action != audit.LoginFailed || w.refusals[0].Target.ID != w.user.ID ||
			w.refusals[0].By.ID != 77 || w.refusals[0].By.Address != "192.0.2.9" || w.refusals[0].Admin != (role == account.RoleAdmin) {
			t.Errorf("%s: on record %+v", role, w.refusals)
		}
		if _, err := w.issue(login.Issue{UserID: w.user.ID, AnyRole: true}); err != nil || w.sessions.opened != 1 {
			t.Errorf("%s by a key that may: %v", role, err)
		}
		w.sessions.opened = 0
	}
	w.users.Change(w.user.ID, func(u *account.User) { u.Role, u.DisabledAt = account.RoleUser, time.Now() })
	if _, err := w.issue(login.Issue{UserID: w.user.ID}); !errors.Is(err, account.ErrDisabled) || w.sessions.opened != 0 {
		t.Errorf("disabled: %v", err)
	}
}

// TestIssueNeedsTheSecondFactor: an issuer proves what it can, and the user has asked for more. A
// code can be guessed, so it counts as an attempt; without one nothing does.
func TestIssueNeedsTheSecondFactor(t *testing.T) {
	w, _ := newGuarded(t)
	if _, err := w.issue(login.Issue{UserID: w.user.ID}); !errors.Is(err, secondfactor.ErrRequired) || w.sessions.opened != 0 || w.limits.tried != 0 {
		t.Errorf("without a code: %v, %d tried", err, w.limits.tried)
	}
	if _, err := w.issue(login.Issue{UserID: w.user.ID, Code: secondfactor.NewCode("999999")}); !errors.Is(err, secondfactor.ErrInvalid) || w.limits.tried != 1 || w.limits.returned != 0 || w.limits.proved != 0 {
		t.Errorf("a wrong code: %v, %+v", err, w.limits)
	}
	if _, err := w.issue(login.Issue{UserID: w.user.ID, Code: good}); err != nil || w.sessions.opened != 1 || w.limits.proved != 1 {
		t.Errorf("a right code: %v", err)
	}
	w.refusals, w.limits.err = nil, &ratelimit.LimitedError{Limit: "login-place", Retry: time.Second}
	if _, err := w.issue(login.Issue{UserID: w.user.ID, Code: good}); !errors.As(err, new(*ratelimit.LimitedError)) || w.sessions.opened != 1 ||
		len(w.refusals) != 1 || w.refusals[0].Action != audit.LoginThrottled || w.refusals[0].Target.ID != w.user.ID {
		t.Errorf("at the limit: %v, on record %+v", err, w.refusals)
	}
}

// onceOnly accepts the good code once, as a second factor does.
type onceOnly struct {
	*factors
	used bool
}

func (o *onceOnly) Check(ctx context.Context, by audit.Actor, u *account.User, code secondfactor.Code) error {
	err := o.factors.Check(ctx, by, u, code)
	if err == nil && o.used {
		return secondfactor.ErrInvalid
	}
	o.used = o.used || err == nil
	return err
}

// TestRepeatedIssueNeedsNoSecondCode: the same request with the same code, which is used up, begins
// the login again and counts as no guess; but not for a factor that was added since. With another
// body it does nothing, and makes no user.
func TestRepeatedIssueNeedsNoSecondCode(t *testing.T) {
	w, f := newGuarded(t)
	w.login.Codes = &onceOnly{factors: f}
	in := login.Issue{UserID: w.user.ID, Code: good, Request: &session.Request{Name: [32]byte{1}, Body: [32]byte{1}}}
	if _, err := w.issue(in); err != nil {
		t.Fatal(err)
	}
	kept := w.sessions.in.Issued
	u, _ := w.users.ByID(t.Context(), w.user.ID)
	if !kept.Factor.Equal(u.SecondFactorAt) {
		t.Errorf("the login is opened with a factor of %v, want %v", kept.Factor, u.SecondFactorAt)
	}
	w.users.request, w.users.requestOf = in.Request, u
	tried := w.limits.tried
	if _, err := w.issue(in); err != nil || w.sessions.opened != 2 || w.limits.tried != tried || kept.Again || !w.sessions.in.Issued.Again {
		t.Errorf("again: %v, %d opened, %d tried, opened with %+v", err, w.sessions.opened, w.limits.tried-tried, w.sessions.in.Issued)
	}
	other := login.Issue{ExternalID: "crm-20", Create: true, Request: &session.Request{Name: in.Request.Name, Body: [32]byte{2}}}
	if _, err := w.issue(other); !errors.Is(err, session.ErrRequestReused) {
		t.Errorf("another body: %v", err)
	}
	if _, err := w.users.ByExternalID(t.Context(), "crm-20"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("a request that was refused has made a user: %v", err)
	}
	w.users.Change(w.user.ID, func(u *account.User) { u.SecondFactorAt = u.SecondFactorAt.Add(time.Millisecond) })
	if _, err := w.issue(in); !errors.Is(err, secondfactor.ErrInvalid) || w.limits.tried == tried {
		t.Errorf("with another factor: %v", err)
	}
}

// TestIssueTakesACodeOnce: if the account changes after the code was accepted, the code is not
// looked at again, where it would be refused as used. One of another factor is.
func TestIssueTakesACodeOnce(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*account.User)
		want   error
	}{
		"a new password": {func(u *account.User) { u.PasswordVersion++ }, nil},
		"another factor": {func(u *account.User) {
			u.PasswordVersion++
			u.SecondFactorAt = u.SecondFactorAt.Add(time.Millisecond)
		}, secondfactor.ErrInvalid},
	} {
		w, f := newGuarded(t)
		w.login.Codes = &onceOnly{factors: f}
		tries := 0
		w.sessions.before = func() error {
			if tries++; tries > 1 {
				return nil
			}
			w.users.Change(w.user.ID, c.change)
			return account.ErrStale
		}
		if _, err := w.issue(login.Issue{UserID: w.user.ID, Code: good}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestIssueMakesAUserOnce: with a name of its own, if the issuer gives none, and without a
// password. Who comes too late finds the one that was made.
func TestIssueMakesAUserOnce(t *testing.T) {
	w := newWorld(t)
	made, err := w.issue(login.Issue{ExternalID: "crm-9", Create: true})
	if err != nil || !made.Created {
		t.Fatalf("%+v, %v", made, err)
	}
	u, err := w.users.ByExternalID(t.Context(), "crm-9")
	if err != nil || u.Username != "user-"+u.ID.String() || !u.PasswordHash.IsZero() || u.Role != account.RoleUser || u.PasswordVersion != 1 {
		t.Errorf("%+v, %v", u, err)
	}
	if name, err := account.NormalizeUsername(u.Username); err != nil || name != u.Username {
		t.Errorf("%q is no name: %v", u.Username, err)
	}
	e := w.users.events[len(w.users.events)-1]
	if e.Action != audit.UserCreated || e.Need != audit.NeedsIssuer || e.By.Key != 78 || e.Target.ID != u.ID || !strings.Contains(string(e.New), `"external_id":"crm-9"`) {
		t.Errorf("on record: %+v", e)
	}
	if again, err := w.issue(login.Issue{ExternalID: "crm-9", Create: true, Username: "carol"}); err != nil || again.Created || session.UserOf(again.Identity) != u.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	named, err := w.issue(login.Issue{ExternalID: "crm-10", Create: true, Username: "Carol"})
	if u, found := w.users.ByUsername(t.Context(), "carol"); err != nil || found != nil || u.ExternalID != "crm-10" || !named.Created {
		t.Errorf("with a name: %+v, %v", u, err)
	}
	if _, err := w.issue(login.Issue{ExternalID: "crm-11", Create: true, Username: "alice"}); !errors.Is(err, account.ErrExists) {
		t.Errorf("with a name that is taken: %v", err)
	}
	w.login.Users = &deleted{w.users}
	_, err = w.issue(login.Issue{ExternalID: "crm-13", Create: true})
	if bad, ok := errors.AsType[*invalid.Error](err); !ok || len(bad.Fields) != 1 || bad.Fields[0].Field != "external_id" || bad.Fields[0].Code != "conflict" {
		t.Errorf("of an account that was deleted: %v", err)
	}
	w.users.request, w.users.requestOf = &session.Request{Name: [32]byte{1}}, account.User{ID: 4711} // of one who was deleted after a login
	_, err = w.issue(login.Issue{ExternalID: "crm-13", Create: true, Request: w.users.request})
	if bad, ok := errors.AsType[*invalid.Error](err); !ok || len(bad.Fields) != 1 || bad.Fields[0].Field != "external_id" || bad.Fields[0].Code != "conflict" {
		t.Errorf("again, of an account that was deleted since: %v", err)
	}
	if _, err = w.issue(login.Issue{ExternalID: "crm-13", Request: w.users.request}); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("again, without create: %v", err)
	}
	// Another instance makes the user between the look and the write.
	w.login.Users = &overtaken{users: w.users, id: "crm-12"}
	if late, err := w.issue(login.Issue{ExternalID: "crm-12", Create: true}); err != nil || late.Created {
		t.Errorf("too late: %+v, %v", late, err)
	}
	if err := w.in("", secondfactor.Code{}); !errors.Is(err, account.ErrWrong) {
		t.Errorf("an empty password: %v", err)
	}
}

// deleted has every external ID, of an account that nobody finds.
type deleted struct{ *users }

func (*deleted) Create(context.Context, account.User, ...audit.Event) error {
	return &account.RefusedError{UserID: 9, Err: account.ErrOtherPerson}
}

// overtaken finds that another user has that external ID.
type overtaken struct {
	*users
	id string
}

func (o *overtaken) Create(ctx context.Context, u account.User, _ ...audit.Event) error {
	u.ID, u.Username = u.ID+1, fmt.Sprint("user-", u.ID+1)
	return errors.Join(o.users.Create(ctx, u), errors.New("another user has that ID"))
}

// TestIssueLooksAgainAfterAChange: a new password ends the logins of before, and is no reason to
// refuse one that does not rest on it. A role or a second factor that has come meanwhile counts.
func TestIssueLooksAgainAfterAChange(t *testing.T) {
	stale := fmt.Errorf("begin: %w", account.ErrStale)
	for name, c := range map[string]struct {
		change func(*account.User)
		want   error
	}{
		"a new password":  {func(u *account.User) { u.PasswordVersion++ }, nil},
		"an admin now":    {func(u *account.User) { u.PasswordVersion++; u.Role = account.RoleAdmin }, login.ErrIssueRole},
		"a second factor": {func(u *account.User) { u.PasswordVersion++; u.SecondFactorAt = time.Now() }, secondfactor.ErrRequired},
		"disabled":        {func(u *account.User) { u.DisabledAt = time.Now() }, account.ErrDisabled},
	} {
		w, _ := newGuarded(t)
		w.users.Change(w.user.ID, func(u *account.User) { u.SecondFactorAt = time.Time{} })
		tries := 0
		w.sessions.before = func() error {
			if tries++; tries > 1 {
				return nil
			}
			w.users.Change(w.user.ID, c.change)
			return stale
		}
		if _, err := w.issue(login.Issue{UserID: w.user.ID}); !errors.Is(err, c.want) || (err == nil) != (w.sessions.opened == 1) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	w := newWorld(t)
	w.sessions.err = stale
	if _, err := w.issue(login.Issue{UserID: w.user.ID}); !errors.Is(err, account.ErrUndecided) || errors.Is(err, account.ErrWrong) {
		t.Errorf("an account that changes all the time: %v, want undecided", err)
	}
}

// TestIssueAboveTheLimitHasNoTicket: a ticket would open a login without the key.
func TestIssueAboveTheLimitHasNoTicket(t *testing.T) {
	w := newWorld(t)
	d := &devices{}
	w.login.Devices, w.login.Held = d, d
	w.sessions.err = &session.LimitError{Choices: []session.Session{{ID: 72, UserID: w.user.ID}}, Last: 72}
	_, err := w.issue(login.Issue{UserID: w.user.ID})
	full, ok := errors.AsType[*login.NoRoomError](err)
	if !ok || len(full.Logins) != 1 || full.Ticket.Reveal() != "" {
		t.Errorf("%v, %+v", err, full)
	}
	w.sessions.err = nil
	if _, err := w.issue(login.Issue{UserID: w.user.ID, Instead: 72}); err != nil || w.sessions.in.Instead != idworker.ID(72) {
		t.Errorf("in place of one: %v, %+v", err, w.sessions.in)
	}
	for _, line := range []string{"key_id=78", "auth_method=sms", "from=192.0.2.9"} {
		if !strings.Contains(w.log.String(), line) {
			t.Errorf("the log has no %s: %s", line, &w.log)
		}
	}
}
