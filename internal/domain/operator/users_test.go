package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
)

const passphrase = "violet tram sings at noon"

// by is who acts in these tests.
var by = audit.Actor{ID: 7, Name: "root", Via: audit.ViaAPI, RequestID: "r1", Address: "192.0.2.7"}

func TestUserIsCreatedWithTheEvent(t *testing.T) {
	d := newDesk(t)
	u, err := d.users.Create(t.Context(), by, "Alice", account.NewPassword(passphrase), account.RoleService, "an API")
	if err != nil || u.Username != "alice" || u.Role != account.RoleService {
		t.Fatalf("Create: %+v, %v", u, err)
	}
	if len(d.events) != 1 {
		t.Fatalf("events %+v", d.events)
	}
	e := d.events[0]
	if e.Action != audit.UserCreated || e.By != by || e.Target != (audit.Target{Kind: "user", ID: u.ID, Name: "alice"}) ||
		e.Reason != "an API" || e.Old != nil || string(e.New) != `{"role":"service"}` || e.ID == 0 || e.ID == u.ID {
		t.Errorf("event %+v", e)
	}
	for name, err := range map[string]error{
		"taken": second(d.users.Create(t.Context(), by, "alice", account.NewPassword(passphrase), account.RoleUser, "")),
		"short": second(d.users.Create(t.Context(), by, "bob", account.NewPassword("short"), account.RoleUser, "")),
		"role":  second(d.users.Create(t.Context(), by, "bob", account.NewPassword(passphrase), "king", "")),
		"long":  second(d.users.Create(t.Context(), by, "bob", account.NewPassword(passphrase), account.RoleUser, strings.Repeat("ä", 1001))),
	} {
		if err == nil || len(d.events) != 1 {
			t.Errorf("%s: %v, %d events", name, err, len(d.events))
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Each thing that changes is an event of its own, with what it was and what it is.
func TestChangeIsRecordedAndPublished(t *testing.T) {
	d := newDesk(t)
	u := d.add("alice", account.RoleUser)
	d.login(u, now)
	role, yes, no := account.RoleAdmin, true, false
	p, ended, err := d.users.Change(t.Context(), by, u, operator.UserChange{Role: &role, Disabled: &yes, Reason: "moved"})
	if err != nil || p.Role != role || !p.DisabledAt.Equal(now) || len(ended) != 1 || len(p.Logins) != 0 {
		t.Fatalf("Change: %+v, %+v, %v", p, ended, err)
	}
	if len(d.published) != 1 || d.published[0].ID != ended[0].ID {
		t.Errorf("published %+v", d.published)
	}
	var got []string
	ids := map[idworker.ID]bool{}
	for _, e := range d.events {
		got = append(got, fmt.Sprintf("%s %s %s %s by %s", e.Action, e.Reason, e.Old, e.New, e.By.Name))
		ids[e.ID] = true
	}
	if want := []string{
		`user.role_changed moved {"role":"user"} {"role":"admin"} by root`,
		`user.disabled moved {} {"disabled_at":"2026-11-21T10:00:00.000Z"} by root`,
	}; !slices.Equal(got, want) || len(ids) != 2 {
		t.Errorf("events %q with %d IDs, want %q", got, len(ids), want)
	}
	// What is so already, and nothing at all.
	for _, c := range []operator.UserChange{{Role: &role, Disabled: &yes}, {Role: &role}, {Disabled: &yes}, {}} {
		if _, _, err := d.users.Change(t.Context(), by, u, c); err != nil || len(d.events) != 2 {
			t.Errorf("%+v: %v, %d events", c, err, len(d.events))
		}
	}
	if p, _, err := d.users.Change(t.Context(), by, u, operator.UserChange{Disabled: &no}); err != nil || p.Disabled() || len(d.events) != 3 || d.events[2].Action != audit.UserEnabled {
		t.Errorf("enabled: %+v, %v", p, err)
	}
	king := account.Role("king")
	for _, c := range []operator.UserChange{{Role: &king}, {Role: &role, Reason: strings.Repeat("x", 1001)}, {Reason: "a\x1b[2J"}, {Reason: "a\xff"}} {
		_, _, err := d.users.Change(t.Context(), by, u, c)
		if _, ok := errors.AsType[*invalid.Error](err); !ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, _, err := d.users.Change(t.Context(), by, 999, operator.UserChange{Disabled: &yes}); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("unknown user: %v", err)
	}
}

// A change that could not be published is done, and the caller learns both.
func TestUnpublishedChangeIsDone(t *testing.T) {
	d := newDesk(t)
	u := d.add("alice", account.RoleUser)
	d.deaf = fmt.Errorf("redis: %w", session.ErrUnpublished)
	role := account.RoleService
	d.login(u, now)
	if p, ended, err := d.users.Change(t.Context(), by, u, operator.UserChange{Role: &role}); !errors.Is(err, session.ErrUnpublished) || p.Role != role || len(ended) == 0 {
		t.Errorf("Change: %+v, %+v, %v", p, ended, err)
	}
	d.login(u, now)
	if ended, err := d.users.Logout(t.Context(), by, u, "", ""); !errors.Is(err, session.ErrUnpublished) || len(ended) == 0 {
		t.Errorf("Logout: %+v, %v", ended, err)
	}
	s := d.login(u, now)
	if ended, err := d.sessions.End(t.Context(), by, s.ID, ""); !errors.Is(err, session.ErrUnpublished) || ended.ID != s.ID {
		t.Errorf("End: %+v, %v", ended, err)
	}
	d.login(u, now)
	if ended, err := d.users.SetPassword(t.Context(), by, u, account.NewPassword("seven green kites over the harbour"), ""); !errors.Is(err, session.ErrUnpublished) || len(ended) == 0 {
		t.Errorf("SetPassword: %+v, %v", ended, err)
	}
}

func TestLogoutOfAUser(t *testing.T) {
	d := newDesk(t)
	u := d.add("alice", account.RoleUser)
	if ended, err := d.users.Logout(t.Context(), by, u, "", ""); err != nil || len(ended) != 0 || len(d.events) != 0 {
		t.Errorf("who is not logged in: %+v, %v, %v", ended, err, d.events)
	}
	s := d.login(u, now)
	if ended, err := d.users.Logout(t.Context(), by, u, "", "lost phone"); err != nil || len(ended) != 1 || ended[0].ID != s.ID || len(d.published) != 1 {
		t.Errorf("Logout: %+v, %v", ended, err)
	}
	e := d.events[0]
	if e.Action != audit.LoginEnded || e.Target != (audit.Target{Kind: "user", ID: u, Name: "alice"}) || e.Reason != "lost phone" ||
		!strings.Contains(string(e.Old), `"session_id":"`+s.ID.String()) {
		t.Errorf("event %+v %s", e, e.Old)
	}
	if _, err := d.users.Logout(t.Context(), by, 999, "", ""); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("unknown user: %v", err)
	}
}

func TestPasswordIsResetWithTheEvent(t *testing.T) {
	d := newDesk(t)
	u := d.add("alice", account.RoleUser)
	s := d.login(u, now)
	if ended, err := d.users.SetPassword(t.Context(), by, u, account.NewPassword(passphrase), "forgot"); err != nil || len(ended) != 1 || ended[0].ID != s.ID {
		t.Errorf("SetPassword: %+v, %v", ended, err)
	}
	if len(d.events) != 1 || d.events[0].Action != audit.PasswordReset || d.events[0].Old != nil || d.events[0].New != nil {
		t.Errorf("events %+v", d.events)
	}
	if _, err := d.users.SetPassword(t.Context(), by, u, account.NewPassword("short"), ""); err == nil || len(d.events) != 1 {
		t.Errorf("a short one: %v", err)
	}
}

// A list by name goes on behind the user that the page before ended with.
func TestListByNameGoesOnBehindAUser(t *testing.T) {
	d := newDesk(t)
	var ids []idworker.ID
	for _, name := range []string{"alina", "alice", "bob", "alan", "albert"} {
		ids = append(ids, d.add(name, account.RoleUser))
	}
	var got []string
	for after := ""; ; {
		page, err := d.users.List(t.Context(), "ＡＬ", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page {
			got, after = append(got, u.Username), operator.UserCursor("al", &u)
		}
		// Who ended the page may be gone by the next one, or have another name.
		if i := slices.IndexFunc(d.rows, func(u account.User) bool { return u.Username == got[len(got)-1] }); len(got) == 2 {
			d.rows = slices.Delete(d.rows, i, i+1)
			d.users.Known = &accounttest.Users{}
		}
		if len(page) < 2 {
			break
		}
	}
	if want := []string{"alan", "albert", "alice", "alina"}; !slices.Equal(got, want) {
		t.Errorf("by name: %v, want %v", got, want)
	}
	for _, after := range []string{
		"Ym9i", ids[0].String(), "YWxpY2V", "YWxpY2U=", "YWxp\nY2U", "QUxJQ0U", "YWwg", "YWwA", "_w", strings.Repeat("YWxh", 400),
	} { // bob, an ID, bits that are not used, padding, another line, ALICE, spaces, a zero, no text, and what is too long
		_, err := d.users.List(t.Context(), "al", after, 2)
		if bad, ok := errors.AsType[*invalid.Error](err); !ok || bad.Fields[0].Field != "cursor" {
			t.Errorf("behind %.20q: %v", after, err)
		}
	}
	for _, none := range []string{"a b", "a\x00", strings.Repeat("a", 2000), "a\xff"} {
		if page, err := d.users.List(t.Context(), none, "", 2); err != nil || len(page) != 0 {
			t.Errorf("%.9q: %v, %v", none, page, err)
		}
	}
	if _, err := d.users.List(t.Context(), "", "YWxpY2U", 3); err == nil {
		t.Error("all, behind a name: no error")
	}
	if page, err := d.users.List(t.Context(), "", ids[4].String(), 3); err != nil || page[0].ID != ids[3] || len(page) != 3 {
		t.Errorf("all: %v, %v", page, err)
	}
}

// FuzzUserCursor: a cursor is one text, and the list goes on behind a name that can be in
// it; what a page gives as its cursor is always taken.
func FuzzUserCursor(f *testing.F) {
	for _, c := range [][2]string{{"al", "YWxpY2U"}, {"al", "Ym9i"}, {"", "7"}, {"é", "w6k"}, {"a", "YQ=="}, {"a", "YWIA"}, {"", "-1"}, {"a", "YW\nFh"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, prefix, cursor string) {
		u := account.User{Username: "a"}
		if form, ok := account.NormalizePrefix(prefix); ok {
			u.Username = form
		}
		names := &named{}
		users := &operator.Users{Accounts: names, Known: &accounttest.Users{}}
		if _, err := users.List(t.Context(), prefix, operator.UserCursor(prefix, &u), 1); err != nil && prefix != "" {
			t.Errorf("%q: its own cursor: %v", prefix, err)
		}
		names.after = ""
		_, err := users.List(t.Context(), prefix, cursor, 1)
		if _, ok := errors.AsType[*invalid.Error](err); err != nil && !ok {
			t.Fatal(err)
		}
		if u.Username = names.after; names.after != "" && (operator.UserCursor(prefix, &u) != cursor || !strings.HasPrefix(names.after, names.prefix)) {
			t.Errorf("%q behind %q: %q behind %q", prefix, cursor, names.prefix, names.after)
		}
	})
}

// named remembers what was asked for.
type named struct {
	operator.Accounts
	prefix, after string
}

func (n *named) Newest(context.Context, idworker.ID, int) ([]account.User, error) { return nil, nil }

func (n *named) Named(_ context.Context, prefix, after string, _ int) ([]account.User, error) {
	n.prefix, n.after = prefix, after
	return nil, nil
}

// A desk is the verbs over memory.
type desk struct {
	*accounttest.Users
	users    *operator.Users
	sessions *operator.Sessions
	stats    *operator.Stats

	rows      []account.User
	logins    []session.Session // oldest first
	asked     int               // rows of logins that were read
	pages     int               // with so many statements
	events    []audit.Event
	published []session.Session
	deaf      error
	open      []account.OpenReset
	denied    error        // the refusal of the actor
	needed    []audit.Need // of which the rights were checked where nothing changed
	last      idworker.ID
	floor     idworker.ID
	ended     time.Time // up to when, as EndAll was asked
	rule      policy.Policy
}

func newDesk(t *testing.T) *desk {
	d := &desk{Users: &accounttest.Users{}, rule: policy.Default(), last: idworker.Default().Smallest(now)}
	clock := func() time.Time { return now }
	d.sessions = &operator.Sessions{
		Logins: kept{d}, Floor: d, Store: d, Rights: d, Policy: policy.Fixed(d.rule), IDs: d, Now: clock,
		Counted: d.CountLogins,
	}
	d.users = &operator.Users{
		Names:    &namer{},
		Accounts: d, Store: d, Factors: d, Open: d, Known: d.Users, Making: &account.Service{Users: d.Users, Hasher: accounttest.NewHasher(t), IDs: d, Now: clock}, Sessions: d.sessions, IDs: d, Now: clock,
	}
	d.stats = &operator.Stats{Counter: d, Policy: d.sessions.Policy, Now: clock}
	return d
}

func (d *desk) Next(context.Context) (idworker.ID, error) { d.last++; return d.last, nil }

func (d *desk) add(name string, role account.Role) idworker.ID {
	d.last++
	u := account.User{ID: d.last, Username: name, Role: role, PasswordVersion: 1}
	d.rows = append(d.rows, u)
	_ = d.Users.Create(context.Background(), u)
	return u.ID
}

// login adds a login that was issued in order, and seen then.
func (d *desk) login(user idworker.ID, seen time.Time) session.Session {
	d.last++
	s := session.Session{ID: d.last, UserID: user, Username: "alice", Seen: seen}
	d.logins = append(d.logins, s)
	return s
}

func (d *desk) row(id idworker.ID) *account.User {
	for i := range d.rows {
		if d.rows[i].ID == id {
			return &d.rows[i]
		}
	}
	return nil
}

func (d *desk) Newest(_ context.Context, before idworker.ID, limit int) (page []account.User, err error) {
	for i := len(d.rows) - 1; i >= 0 && len(page) < limit; i-- {
		if before == 0 || d.rows[i].ID < before {
			page = append(page, d.rows[i])
		}
	}
	return page, nil
}

func (d *desk) Named(_ context.Context, prefix, after string, limit int) (page []account.User, err error) {
	sorted := slices.SortedFunc(slices.Values(d.rows), func(a, b account.User) int { return strings.Compare(a.Username, b.Username) })
	for _, u := range sorted {
		if strings.HasPrefix(u.Username, prefix) && u.Username > after && len(page) < limit {
			page = append(page, u)
		}
	}
	return page, nil
}

func (d *desk) WithLogins(_ context.Context, id idworker.ID) (account.User, []session.Session, error) {
	u := d.row(id)
	if u == nil {
		return account.User{}, nil, account.ErrNotFound
	}
	var kept []session.Session
	for _, s := range d.logins {
		if s.UserID == id && s.Alive() {
			kept = append(kept, s)
		}
	}
	return *u, kept, nil
}

func (d *desk) Create(ctx context.Context, u account.User, events ...audit.Event) error {
	err := d.Users.Create(ctx, u)
	if err == nil {
		d.rows, d.events = append(d.rows, u), append(d.events, events...)
	}
	return err
}

func (d *desk) Change(_ context.Context, id idworker.ID, decide func(account.User) (account.User, []audit.Event, error)) (
	before, after account.User, ended []session.Session, err error) {
	u := d.row(id)
	if u == nil {
		return before, after, ended, account.ErrNotFound
	}
	before = *u
	_, _, _ = decide(before) // it may be asked more than once
	after, events, err := decide(before)
	if err != nil || after.Role == before.Role && after.DisabledAt.Equal(before.DisabledAt) {
		return before, before, ended, err
	}
	*u, d.events = after, append(d.events, events...)
	return before, after, d.end(func(s session.Session) bool { return s.UserID == id }), nil
}

func (d *desk) ResetPassword(_ context.Context, id idworker.ID, _ int64, _ account.PHC, e audit.Event) ([]session.Session, error) {
	d.events = append(d.events, e)
	return d.end(func(s session.Session) bool { return s.UserID == id }), nil
}

func (d *desk) Delete(_ context.Context, id idworker.ID, username string, e audit.Event) ([]session.Session, error) {
	u, err := d.ByID(context.Background(), id)
	if err == nil && u.Username != username {
		err = account.ErrNotNamed
	}
	if err != nil {
		return nil, err
	}
	d.events = append(d.events, e)
	return d.end(func(s session.Session) bool { return s.UserID == id }), nil
}

func (d *desk) Authorize(_ context.Context, _ audit.Actor, need audit.Need) error {
	d.needed = append(d.needed, need)
	return d.denied
}

func (d *desk) RemoveAndEnd(_ context.Context, _ idworker.ID, _ int64, e audit.Event) ([]session.Session, error) {
	d.events = append(d.events, e)
	return nil, nil
}

func (d *desk) OpenResets(context.Context, idworker.ID, idworker.ID, int, time.Time) ([]account.OpenReset, error) {
	open := d.open
	d.open = nil
	return open, nil
}

func (d *desk) WithdrawResets(_ context.Context, open []account.OpenReset, events []audit.Event) (int, error) {
	d.events = append(d.events, events...)
	return len(open), nil
}

func (d *desk) end(which func(session.Session) bool) (ended []session.Session) {
	for i := range d.logins {
		if which(d.logins[i]) && d.logins[i].Alive() {
			d.logins[i].Ended = session.Revoked
			ended = append(ended, d.logins[i])
		}
	}
	return ended
}

func (d *desk) Publish(_ context.Context, ended ...session.Session) error {
	d.published = append(d.published, ended...)
	return d.deaf
}
