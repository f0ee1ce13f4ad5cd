package deploytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/proof/apitest"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// notInClient is the operations for which the Go client has no method, and why.
var notInClient = map[string]string{
	"POST /v1/verifications": "flakepass.Remote asks, and remembers without making the bound longer",
	"GET /v1/revocations":    "flakepass.Remote follows it",
	"GET /v1/verify":         "it is for proxies, which copy its headers",
	"GET /healthz":           "it is for what restarts processes; Ready says more",
	"HEAD /healthz":          "it is for what restarts processes; Ready says more",
	"HEAD /readyz":           "GET has the reasons",
	"GET /openapi.yaml":      "it is the contract that the client was written by",
}

// TestGoClientHasTheWholeContract: each operation is called through the client
// and succeeds on a real server, or has a reason not to be there; and every
// answer is held to the contract.
func TestGoClientHasTheWholeContract(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	d.Vars["FLAKEPASS_SELF_DELETION"] = "on"
	i := d.Start(t)
	rec := apitest.Record(t, &http.Transport{DisableKeepAlives: true})
	c := goClient(t, i, rec)
	callEverything(t, d, c)
	called := map[apitest.Operation]bool{}
	for seen := range rec.Seen() {
		if seen.Status < 300 && !seen.RequestValid {
			t.Errorf("%s: the contract does not allow the request", seen.Operation)
		}
		called[seen.Operation] = called[seen.Operation] || seen.Status < 300
	}
	for _, op := range apitest.Operations(t) {
		why, left := notInClient[op.String()]
		if called[op] == left {
			t.Errorf("%s: called with success is %v, and the reason why it is not there is %q", op, called[op], why)
		}
	}
}

// TestGoClientKnowsEveryCode: those of the contract, and no other, are constants.
func TestGoClientKnowsEveryCode(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for _, list := range apitest.Codes(t) {
		for _, p := range list {
			want[p.Code] = true
		}
	}
	for _, c := range []client.Code{
		client.TokenMissing, client.TokenMalformed, client.TokenInvalid, client.TokenExpired, client.TokenIdleTimeout, client.TokenLoggedOut,
		client.TokenReplaced, client.TokenRevoked, client.AccountDisabled, client.CredentialsAmbiguous, client.TokenInURL, client.Forbidden,
		client.KeyNotAccepted, client.KeyMalformed, client.KeyInvalid, client.KeyExpired, client.KeyRevoked, client.ScopeMissing, client.ServiceLoginRefused, client.ServiceKeyRequired, client.RoleNotIssuable, client.IdempotencyKeyReused, client.Impersonated, client.ImpersonationOff, client.ImpersonationRefused, client.ImpersonationLimit,
		client.AccountProtected, client.AliasTaken, client.SelfDeletionOff,
		client.CredentialsInvalid, client.CurrentPasswordInvalid, client.ResetTokenInvalid, client.RegistrationClosed, client.UsernameTaken, client.SessionLimit, client.TicketOver, client.LastAdmin,
		client.SecondFactorRequired, client.SecondFactorInvalid, client.SecondFactorEnrolled, client.SecondFactorNotEnrolled, client.SecondFactorOff,
		client.SecondFactorMissing, client.ReauthenticationRequired, client.CurrentCodeInvalid, client.PasswordTooShort, client.PasswordResetRequired,
		client.BodyMalformed, client.BodyTooLarge, client.MediaTypeUnsupported, client.ValidationFailed, client.SweepRunning,
		client.PreconditionRequired, client.VersionConflict, client.ConfirmationRequired, client.NotFound, client.MethodNotAllowed,
		client.Unavailable, client.FollowersFull, client.RateLimited, client.Busy, client.NotReady, client.InternalError,
	} {
		if !want[string(c)] {
			t.Errorf("the contract has no code %q, or the list has it twice", string(c))
		}
		delete(want, string(c))
	}
	for code := range want {
		t.Errorf("the client has no constant for %q", code)
	}
}

func goClient(t testing.TB, i *e2e.Instance, through http.RoundTripper) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: "http://" + i.Public, HTTP: &http.Client{Transport: through, Timeout: e2e.Patience}, PageSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// a step fails the test unless the call worked.
func step[T any](t testing.TB, what string) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return v
	}
}

// all is a list to its end.
func all[T any](t testing.TB, what string, list iter.Seq2[T, error]) (entries []T) {
	t.Helper()
	for v, err := range list {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		entries = append(entries, v)
	}
	return entries
}

func failsAs(t testing.TB, what string, err error, want client.Code) *client.Problem {
	t.Helper()
	p, ok := errors.AsType[*client.Problem](err)
	if !ok || !errors.Is(err, want) || p.Code != want || p.RequestID == "" {
		t.Fatalf("%s: %v, want %s", what, err, string(want))
	}
	return p
}

func callEverything(t *testing.T, d *e2e.Deployment, c *client.Client) {
	ctx := t.Context()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	first, second := client.NewPassword(e2e.NewPassword()), client.NewPassword(e2e.NewPassword())
	if name := step[string](t, "register")(c.Register(ctx, "Alice", first)); name != "alice" {
		t.Errorf("registered as %q", name)
	}
	_, err := c.Register(ctx, "alice", second)
	failsAs(t, "a taken name", err, client.UsernameTaken)
	_, err = c.Register(ctx, "x", client.NewPassword("short"))
	if p := failsAs(t, "a bad name and password", err, client.ValidationFailed); len(p.Errors) < 2 || p.Status != 422 {
		t.Errorf("broken rules: %+v", p.Errors)
	}
	_, err = c.Login(ctx, client.Credentials{Username: "alice", Password: second})
	failsAs(t, "a wrong password", err, client.CredentialsInvalid)
	in := step[client.Login](t, "login")(c.Login(ctx, client.Credentials{Username: "alice", Password: first}))
	if in.Token.ID() != in.SessionID || !in.IdleExpiresAt.Before(in.ExpiresAt.Time) {
		t.Errorf("login: %+v", in)
	}
	alice := c.As(in.Token)
	me := step[wire.Me](t, "me")(alice.Me(flakepass.NewPassiveContext(ctx)))
	if me.Username != "alice" || me.Role != "user" || me.Session.ID != in.SessionID || !me.Session.ExpiresAt.Equal(in.ExpiresAt.Time) {
		t.Errorf("me: %+v", me)
	}
	_, err = alice.Policy(ctx)
	failsAs(t, "an operator's question by a user", err, client.Forbidden)
	failsAs(t, "a wrong password once more", alice.Reauthenticate(ctx, second, ""), client.CurrentPasswordInvalid)
	if err := alice.Reauthenticate(ctx, first, ""); err != nil {
		t.Error(err)
	}
	failsAs(t, "a change with a wrong password", alice.ChangePassword(ctx, second, first), client.CurrentPasswordInvalid)
	if err := alice.ChangePassword(ctx, first, second); err != nil {
		t.Fatal(err)
	}
	_, err = alice.Me(ctx)
	failsAs(t, "after the change", err, client.TokenRevoked)
	in = step[client.Login](t, "login again")(c.Login(ctx, client.Credentials{Username: "alice", Password: second, Last: in.Token}))
	alice = c.As(in.Token)
	callDevices(ctx, t, alice, in.SessionID)
	if within := step[time.Duration](t, "logout")(alice.Logout(ctx)); within != 0 {
		t.Errorf("without Redis a logout is to wait for %v", within)
	}
	step[time.Duration](t, "logout again")(alice.Logout(ctx))
	_, err = alice.Me(ctx)
	failsAs(t, "after the logout", err, client.TokenLoggedOut)
	_, err = alice.LogoutEverywhere(ctx)
	failsAs(t, "everywhere, by a login that is over", err, client.TokenLoggedOut)
	in = step[client.Login](t, "login to end it by its ID")(c.Login(ctx, client.Credentials{Username: "alice", Password: second}))
	step[time.Duration](t, "end my session")(c.As(in.Token).EndMySession(ctx, in.SessionID))
	in = step[client.Login](t, "login to end all")(c.Login(ctx, client.Credentials{Username: "alice", Password: second}))
	step[time.Duration](t, "logout everywhere")(c.As(in.Token).LogoutEverywhere(ctx))

	password := e2e.NewPassword()
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	login := func() *client.Client {
		return c.As(step[client.Login](t, "login")(c.Login(ctx, client.Credentials{Username: "root", Password: client.NewPassword(password)})).Token)
	}
	admin := login()
	callPolicies(ctx, t, admin)
	callUsers(ctx, t, admin, second)
	callResets(ctx, t, admin)
	callSweeps(ctx, t, admin)
	callInstances(ctx, t, admin)
	callPeople(ctx, t, c, admin)
	callSecondFactors(ctx, t, admin)
	if gone := step[client.LoggedOutAll](t, "logout all")(admin.LogoutAll(ctx, "a leak")); gone.Ended == nil || gone.Ended.Count != 1 || gone.Within != wire.Millis(e2e.Bound) {
		t.Errorf("logged out: %+v", gone)
	}
	_, err = admin.Stats(ctx)
	failsAs(t, "after all were logged out", err, client.TokenRevoked)
	events := all(t, "audit", login().Audit(ctx, client.AuditFilter{Actor: "root", Action: "policy.changed", Since: time.Now().Add(-time.Hour)}))
	if len(events) != 3 || events[0].Via != "api" || events[2].Reason != "shorter" || len(events[0].New) == 0 || events[0].Actor.ID == 0 {
		t.Errorf("the record of the policy: %+v", events)
	}
}

// callDevices calls what people do with their own logins. Here there is one at a time.
func callDevices(ctx context.Context, t *testing.T, alice *client.Client, id flakepass.ID) {
	if mine := step[[]wire.MySession](t, "my sessions")(alice.MySessions(ctx)); len(mine) != 1 || mine[0].ID != id || !mine[0].Current {
		t.Errorf("my sessions: %+v", mine)
	}
	if ended, within, err := alice.LogoutOthers(ctx); ended != 0 || within != 0 || err != nil {
		t.Errorf("logout of the others: %d, %v, %v", ended, within, err)
	}
	_, err := alice.EndMySession(ctx, 4711)
	failsAs(t, "an ID that is none of mine", err, client.NotFound)
}

func callPolicies(ctx context.Context, t *testing.T, admin *client.Client) {
	p := step[wire.Policy](t, "policy")(admin.Policy(ctx))
	if !p.UpdatedAt.IsZero() || p.UpdatedBy != "" {
		t.Errorf("a policy that was never set: at %v by %q", p.UpdatedAt, p.UpdatedBy)
	}
	if p.IdleTimeout != wire.Seconds(14*24*time.Hour) || p.Version != 1 {
		t.Errorf("policy: %+v", p)
	}
	to := client.PolicyChange{
		IdleTimeout: wire.Seconds(36 * time.Hour), AbsoluteLifetime: p.AbsoluteLifetime, TouchInterval: p.TouchInterval, SweepSchedule: p.SweepSchedule,
		PolicyHow: client.PolicyHow{Version: p.Version, Note: "shorter", DryRun: true},
	}
	if would := step[wire.PolicyChanged](t, "dry run")(admin.SetPolicy(ctx, to)); !would.DryRun || would.Version != 2 || would.Effect.Live.Count != 1 {
		t.Errorf("a dry run: %+v", would)
	}
	to.DryRun = false
	if now := step[wire.PolicyChanged](t, "set")(admin.SetPolicy(ctx, to)); now.DryRun || now.Version != 2 || now.IdleTimeout != wire.Seconds(36*time.Hour) {
		t.Errorf("a change: %+v", now)
	}
	_, err := admin.SetPolicy(ctx, to)
	failsAs(t, "a change of what was changed", err, client.VersionConflict)
	to.Version, to.IdleTimeout = 2, wire.Seconds(time.Second)
	_, err = admin.SetPolicy(ctx, to)
	failsAs(t, "a timeout of a second", err, client.ValidationFailed)
	step[wire.PolicyChanged](t, "revert")(admin.RevertPolicy(ctx, 1, client.PolicyHow{Version: 2}))
	step[wire.PolicyChanged](t, "revert")(admin.RevertPolicy(ctx, 2, client.PolicyHow{Version: 3, Confirm: true}))
	var versions []int64
	for _, p := range all(t, "history", admin.PolicyHistory(ctx)) {
		versions = append(versions, p.Version)
	}
	if !slices.Equal(versions, []int64{4, 3, 2, 1}) {
		t.Errorf("history: %v", versions)
	}
}

// callKeys makes keys of a service and asks by them about the token of its login.
func callKeys(ctx context.Context, t *testing.T, admin *client.Client, service flakepass.ID, token flakepass.Token) {
	until := time.Now().Add(time.Hour)
	first := step[client.MadeServiceKey](t, "key")(admin.CreateServiceKey(ctx, service, client.NewServiceKey{Name: "billing", Scopes: []string{"verify"}, ExpiresAt: until, Reason: "new"}))
	second := step[client.MadeServiceKey](t, "key")(admin.CreateServiceKey(ctx, service, client.NewServiceKey{Name: "nightly", Scopes: []string{"revoke"}}))
	if first.Key.ID() != first.ID || first.UserID != service || first.Creator.Name == "" || first.ExpiresAt.UnixMilli() != until.UnixMilli() || !second.ExpiresAt.IsZero() {
		t.Errorf("made %+v and %+v", first.ServiceKey, second.ServiceKey)
	}
	if keys := all(t, "keys", admin.ServiceKeys(ctx, service)); len(keys) != 2 || keys[0].ID != second.ID || keys[1].Name != "billing" {
		t.Errorf("keys: %+v", keys)
	}
	by := func(k client.MadeServiceKey) *client.Client { return admin.AsService(k.Key) }
	if who := step[client.Introspection](t, "introspect")(by(first).Introspect(ctx, token)); !who.Active || who.UserID != service {
		t.Errorf("introspected: %+v", who)
	}
	_, err := by(second).Introspect(ctx, token)
	failsAs(t, "a key without the scope", err, client.ScopeMissing)
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Scope != "verify" {
		t.Errorf("a key without the scope: %+v", p)
	}
	_, err = by(first).Me(ctx)
	failsAs(t, "a key in the place of a token", err, client.KeyNotAccepted)
	_, err = admin.CreateServiceKey(ctx, service, client.NewServiceKey{Name: "x", Scopes: []string{"admin"}})
	failsAs(t, "an unknown scope", err, client.ValidationFailed)
	callIssue(ctx, t, admin, service)
	if within := step[time.Duration](t, "revoke")(admin.RevokeServiceKey(ctx, first.ID, "leaked")); within != e2e.Bound {
		t.Errorf("revoked within %v", within)
	}
	_, err = by(first).Introspect(ctx, token)
	failsAs(t, "a key that was revoked", err, client.KeyRevoked)
	_, err = admin.RevokeServiceKey(ctx, 12345, "")
	failsAs(t, "a key that is not there", err, client.NotFound)
}

// callIssue logs a person in whom a service has authenticated.
func callIssue(ctx context.Context, t *testing.T, admin *client.Client, service flakepass.ID) {
	key := step[client.MadeServiceKey](t, "key")(admin.CreateServiceKey(ctx, service, client.NewServiceKey{Name: "sms", Scopes: []string{"issue"}}))
	by, at := admin.AsService(key.Key), time.Now().Add(-time.Minute)
	ask := client.Issue{ExternalID: "+8613800138000", Create: true, Method: "sms", AuthTime: at, Device: wire.Device{Class: "phone"}, RequestID: "first"}
	first := step[client.Issued](t, "issue")(by.Issue(ctx, ask))
	again := step[client.Issued](t, "issue")(by.Issue(ctx, ask))
	if !first.Created || again.Created || first.UserID != again.UserID || first.Username != "user-"+first.UserID.String() || again.AuthMethod != "sms" || again.AuthTime.UnixMilli() != at.UnixMilli() {
		t.Errorf("issued %+v and %+v", first, again)
	}
	_, err := admin.As(first.Token).Me(ctx)
	failsAs(t, "the token of the first answer", err, client.TokenReplaced)
	mine := step[[]wire.MySession](t, "sessions")(admin.As(again.Token).MySessions(ctx))
	if len(mine) != 1 || mine[0].AuthMethod != "sms" || mine[0].AuthTime.UnixMilli() != at.UnixMilli() {
		t.Errorf("the logins of a person: %+v", mine)
	}
	ask.Address = netip.MustParseAddr("192.0.2.9")
	_, err = by.Issue(ctx, ask)
	failsAs(t, "another body", err, client.IdempotencyKeyReused)
	_, err = by.Issue(ctx, client.Issue{UserID: service, Method: "sms"})
	failsAs(t, "a login of a service", err, client.RoleNotIssuable)
	_, err = admin.Issue(ctx, client.Issue{UserID: service, Method: "sms"})
	failsAs(t, "by a token", err, client.ServiceKeyRequired)
	step[time.Duration](t, "logout")(admin.As(again.Token).Logout(ctx))
}

// callPeople names a person, acts for the person, and deletes two.
func callPeople(ctx context.Context, t *testing.T, c, admin *client.Client) {
	password := client.NewPassword(e2e.NewPassword())
	made := func(name, role string) wire.User {
		return step[wire.User](t, "create")(admin.CreateUser(ctx, client.NewUser{Username: name, Password: password, Role: role}))
	}
	mary, nora, service := made("mary", "user"), made("nora", "user"), made("directory", "service")
	key := step[client.MadeServiceKey](t, "key")(admin.CreateServiceKey(ctx, service.ID, client.NewServiceKey{Name: "names", Scopes: []string{"read:users", "write:users"}}))
	by, name := admin.AsService(key.Key), "mary.jones"
	step[wire.User](t, "rename")(admin.ChangeNames(ctx, mary.ID, client.NameChange{Username: &name}))
	step[wire.User](t, "alias")(by.ChangeNamesByKey(ctx, mary.ID, client.NameChange{Aliases: &[]string{"mary@example.org"}}))
	for _, q := range []client.UserQuery{{Alias: "mary@example.org"}, {ID: mary.ID}} {
		if u := step[wire.User](t, "find")(by.FindUser(ctx, q)); u.ID != mary.ID || u.Username != name || len(u.Aliases) != 1 {
			t.Errorf("found %+v", u)
		}
	}
	_, err := by.ChangeNamesByKey(ctx, nora.ID, client.NameChange{Aliases: &[]string{"mary@example.org"}})
	failsAs(t, "an alias of another", err, client.AliasTaken)
	_, err = by.ChangeNamesByKey(ctx, service.ID, client.NameChange{Aliases: &[]string{"x@example.org"}})
	failsAs(t, "a name of a service", err, client.AccountProtected)
	act := step[client.Impersonation](t, "impersonate")(admin.Impersonate(ctx, mary.ID, "ticket 7"))
	if who := step[client.Introspection](t, "introspect")(admin.Introspect(ctx, act.Token)); who.Act == 0 || who.Act != act.Act.Admin() || who.UserID != mary.ID || who.DeviceClass == "" || who.AuthMethod != "" {
		t.Errorf("introspected who acts: %+v", who)
	}
	failsAs(t, "a change by who acts", admin.As(act.Token).ChangePassword(ctx, password, password), client.Impersonated)
	own := c.As(step[client.Login](t, "login by an alias")(c.Login(ctx, client.Credentials{Username: "Mary@example.org", Password: password})).Token)
	var data bytes.Buffer
	if err := own.ExportMe(ctx, &data); err != nil || !bytes.Contains(data.Bytes(), []byte(name)) {
		t.Errorf("exported %s, %v", &data, err)
	}
	step[wire.DeletionAsked](t, "delete me")(own.DeleteMe(ctx))
	step[time.Duration](t, "delete")(admin.DeleteUser(ctx, nora.ID, "nora", "asked for it"))
	_, err = admin.User(ctx, nora.ID)
	failsAs(t, "a deleted user", err, client.NotFound)
}

func callUsers(ctx context.Context, t *testing.T, admin *client.Client, second client.Password) {
	password := client.NewPassword(e2e.NewPassword())
	made := step[wire.User](t, "create")(admin.CreateUser(ctx, client.NewUser{Username: "Oscar", Password: password, Role: "service", Reason: "orders"}))
	if made.Username != "oscar" || made.Role != "service" || !made.DisabledAt.IsZero() {
		t.Errorf("created: %+v", made)
	}
	for n := range 3 {
		step[wire.User](t, "create")(admin.CreateUser(ctx, client.NewUser{Username: fmt.Sprintf("oscar%d", n), Password: password, Role: "user"}))
	}
	var names []string
	for _, u := range all(t, "users", admin.Users(ctx, "osc")) {
		names = append(names, u.Username)
	}
	if !slices.Equal(names, []string{"oscar", "oscar0", "oscar1", "oscar2"}) {
		t.Errorf("by prefix: %v", names)
	}
	if n := len(all(t, "all users", admin.Users(ctx, ""))); n != 6 {
		t.Errorf("%d users, want 6", n)
	}
	begin := func() (*client.Client, client.Login) {
		in := step[client.Login](t, "login")(admin.Login(ctx, client.Credentials{Username: "oscar", Password: password}))
		return admin.As(in.Token), in
	}
	oscar, in := begin()
	alice := step[client.Login](t, "login")(admin.Login(ctx, client.Credentials{Username: "alice", Password: second}))
	if who := step[client.Introspection](t, "introspect")(oscar.Introspect(ctx, alice.Token)); !who.Active || who.Username != "alice" ||
		who.SessionID != alice.SessionID || who.ExpiresAt.IsZero() {
		t.Errorf("introspected: %+v", who)
	}
	if err := oscar.Revoke(ctx, alice.Token); err != nil {
		t.Fatal(err)
	}
	if who := step[client.Introspection](t, "introspect")(oscar.Introspect(ctx, alice.Token)); who != (client.Introspection{}) {
		t.Errorf("introspected after the end: %+v", who)
	}
	_, err := admin.As(flakepass.NewToken(1)).Introspect(ctx, alice.Token)
	failsAs(t, "introspection without a login", err, client.TokenExpired)

	callKeys(ctx, t, admin, made.ID, in.Token)

	if s := all(t, "sessions", admin.Sessions(ctx, "")); len(s) != 2 || s[0].ID != in.SessionID || s[0].Username != "oscar" || s[0].UserID != made.ID {
		t.Errorf("sessions: %+v", s)
	}
	if s := step[wire.UserSession](t, "session")(admin.Session(ctx, in.SessionID)); s.ID != in.SessionID {
		t.Errorf("session: %+v", s)
	}
	step[time.Duration](t, "end")(admin.EndSession(ctx, in.SessionID, "lost phone"))
	step[time.Duration](t, "end again")(admin.EndSession(ctx, in.SessionID, ""))
	_, err = admin.Session(ctx, in.SessionID)
	failsAs(t, "a login that is over", err, client.NotFound)
	_, _ = begin()
	if p := step[wire.Person](t, "user")(admin.User(ctx, made.ID)); p.Session == nil || p.Username != "oscar" {
		t.Errorf("person: %+v", p)
	}
	step[time.Duration](t, "logout user")(admin.LogoutUser(ctx, made.ID, client.LogoutHow{}))
	_, err = admin.User(ctx, 1)
	failsAs(t, "no user", err, client.NotFound)
	yes, role := true, "user"
	changed := step[client.UserChanged](t, "change")(admin.ChangeUser(ctx, made.ID, client.UserChange{Disabled: &yes, Role: &role, Reason: "left"}))
	if changed.Person == nil || changed.Within != 0 || changed.Person.DisabledAt.IsZero() || changed.Person.Role != "user" || changed.Person.Session != nil {
		t.Errorf("changed: %+v", changed)
	}
	root := all(t, "root", admin.Users(ctx, "root"))[0]
	_, err = admin.ChangeUser(ctx, root.ID, client.UserChange{Disabled: &yes})
	failsAs(t, "the last admin", err, client.LastAdmin)
	if s := step[wire.Stats](t, "stats")(admin.Stats(ctx)); s.Users.Count != 7 || s.Disabled.Count != 1 || s.Roles.Admin.Count != 1 || s.LiveLogins.Count != 1 {
		t.Errorf("stats: %+v", s)
	}
}

func callSweeps(ctx context.Context, t *testing.T, admin *client.Client) {
	s := step[wire.Sweep](t, "sweep")(admin.StartSweep(ctx))
	testenv.Eventually(t, e2e.Patience, func() bool {
		for _, one := range all(t, "sweeps", admin.Sweeps(ctx)) {
			if one.ID == s.ID {
				return one.Outcome == "done" && !one.FinishedAt.IsZero() && one.RequestedBy == "root"
			}
		}
		return false
	}, "the sweep that was asked for is done")
}
