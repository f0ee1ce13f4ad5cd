package deploytest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"testing"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
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
	for _, c := range []apiclient.Code{
		apiclient.TokenMissing, apiclient.TokenMalformed, apiclient.TokenInvalid, apiclient.TokenExpired, apiclient.TokenIdleTimeout, apiclient.TokenLoggedOut,
		apiclient.TokenReplaced, apiclient.TokenRevoked, apiclient.AccountDisabled, apiclient.CredentialsAmbiguous, apiclient.TokenInURL, apiclient.Forbidden,
		apiclient.CredentialsInvalid, apiclient.CurrentPasswordInvalid, apiclient.ResetTokenInvalid, apiclient.RegistrationClosed, apiclient.UsernameTaken, apiclient.LastAdmin,
		apiclient.SecondFactorRequired, apiclient.SecondFactorInvalid, apiclient.SecondFactorEnrolled, apiclient.SecondFactorNotEnrolled, apiclient.SecondFactorOff,
		apiclient.SecondFactorMissing, apiclient.ReauthenticationRequired, apiclient.CurrentCodeInvalid, apiclient.PasswordTooShort, apiclient.PasswordResetRequired,
		apiclient.BodyMalformed, apiclient.BodyTooLarge, apiclient.MediaTypeUnsupported, apiclient.ValidationFailed, apiclient.SweepRunning,
		apiclient.PreconditionRequired, apiclient.VersionConflict, apiclient.ConfirmationRequired, apiclient.NotFound, apiclient.MethodNotAllowed,
		apiclient.Unavailable, apiclient.FollowersFull, apiclient.RateLimited, apiclient.Busy, apiclient.NotReady, apiclient.InternalError,
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

func goClient(t testing.TB, i *e2e.Instance, through http.RoundTripper) *apiclient.Client {
	t.Helper()
	c, err := apiclient.New(apiclient.Options{URL: "http://" + i.Public, HTTP: &http.Client{Transport: through, Timeout: e2e.Patience}, PageSize: 2})
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

func failsAs(t testing.TB, what string, err error, want apiclient.Code) *apiclient.Problem {
	t.Helper()
	p, ok := errors.AsType[*apiclient.Problem](err)
	if !ok || !errors.Is(err, want) || p.Code != want || p.RequestID == "" {
		t.Fatalf("%s: %v, want %s", what, err, string(want))
	}
	return p
}

func callEverything(t *testing.T, d *e2e.Deployment, c *apiclient.Client) {
	ctx := t.Context()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	first, second := apiclient.NewPassword(e2e.NewPassword()), apiclient.NewPassword(e2e.NewPassword())
	if name := step[string](t, "register")(c.Register(ctx, "Alice", first)); name != "alice" {
		t.Errorf("registered as %q", name)
	}
	_, err := c.Register(ctx, "alice", second)
	failsAs(t, "a taken name", err, apiclient.UsernameTaken)
	_, err = c.Register(ctx, "x", apiclient.NewPassword("short"))
	if p := failsAs(t, "a bad name and password", err, apiclient.ValidationFailed); len(p.Errors) < 2 || p.Status != 422 {
		t.Errorf("broken rules: %+v", p.Errors)
	}
	_, err = c.Login(ctx, apiclient.Credentials{Username: "alice", Password: second})
	failsAs(t, "a wrong password", err, apiclient.CredentialsInvalid)
	in := step[apiclient.Login](t, "login")(c.Login(ctx, apiclient.Credentials{Username: "alice", Password: first}))
	if in.Token.ID() != in.SessionID || !in.IdleExpiresAt.Before(in.ExpiresAt) {
		t.Errorf("login: %+v", in)
	}
	alice := c.As(in.Token)
	me := step[apiclient.Me](t, "me")(alice.Me(flakepass.NewPassiveContext(ctx)))
	if me.Username != "alice" || me.Role != "user" || me.Session.ID != in.SessionID || !me.Session.ExpiresAt.Equal(in.ExpiresAt) {
		t.Errorf("me: %+v", me)
	}
	_, err = alice.Policy(ctx)
	failsAs(t, "an operator's question by a user", err, apiclient.Forbidden)
	failsAs(t, "a wrong password once more", alice.Reauthenticate(ctx, second, ""), apiclient.CurrentPasswordInvalid)
	if err := alice.Reauthenticate(ctx, first, ""); err != nil {
		t.Error(err)
	}
	failsAs(t, "a change with a wrong password", alice.ChangePassword(ctx, second, first), apiclient.CurrentPasswordInvalid)
	if err := alice.ChangePassword(ctx, first, second); err != nil {
		t.Fatal(err)
	}
	_, err = alice.Me(ctx)
	failsAs(t, "after the change", err, apiclient.TokenRevoked)
	in = step[apiclient.Login](t, "login again")(c.Login(ctx, apiclient.Credentials{Username: "alice", Password: second, Last: in.Token}))
	alice = c.As(in.Token)
	if within := step[time.Duration](t, "logout")(alice.Logout(ctx)); within != 0 {
		t.Errorf("without Redis a logout is told to wait for %v", within)
	}
	step[time.Duration](t, "logout again")(alice.Logout(ctx))
	_, err = alice.Me(ctx)
	failsAs(t, "after the logout", err, apiclient.TokenLoggedOut)

	password := e2e.NewPassword()
	e2e.Must(t, d.Vars, password+"\n", "user", "add", "root", "--role", "admin", "--password-stdin")
	login := func() *apiclient.Client {
		return c.As(step[apiclient.Login](t, "login")(c.Login(ctx, apiclient.Credentials{Username: "root", Password: apiclient.NewPassword(password)})).Token)
	}
	admin := login()
	callPolicies(ctx, t, admin)
	callUsers(ctx, t, admin, second)
	callResets(ctx, t, admin)
	callSweeps(ctx, t, admin)
	callInstances(ctx, t, admin)
	callSecondFactors(ctx, t, admin)
	if gone := step[apiclient.LoggedOutAll](t, "logout all")(admin.LogoutAll(ctx, "a leak")); gone.Ended == nil || gone.Ended.Count != 1 || gone.Within != e2e.Bound {
		t.Errorf("logged out: %+v", gone)
	}
	_, err = admin.Stats(ctx)
	failsAs(t, "after everybody was logged out", err, apiclient.TokenRevoked)
	events := all(t, "audit", login().Audit(ctx, apiclient.AuditFilter{Actor: "root", Action: "policy.changed", Since: time.Now().Add(-time.Hour)}))
	if len(events) != 3 || events[0].Via != "api" || events[2].Reason != "shorter" || len(events[0].New) == 0 || events[0].Actor.ID == 0 {
		t.Errorf("the record of the policy: %+v", events)
	}
}

func callPolicies(ctx context.Context, t *testing.T, admin *apiclient.Client) {
	p := step[apiclient.Policy](t, "policy")(admin.Policy(ctx))
	if !p.UpdatedAt.IsZero() || p.UpdatedBy != "" {
		t.Errorf("a policy that nobody has set: at %v by %q", p.UpdatedAt, p.UpdatedBy)
	}
	if p.IdleTimeout != 14*24*time.Hour || p.Version != 1 {
		t.Errorf("policy: %+v", p)
	}
	to := apiclient.PolicyChange{
		IdleTimeout: 36 * time.Hour, AbsoluteLifetime: p.AbsoluteLifetime, TouchInterval: p.TouchInterval, SweepSchedule: p.SweepSchedule,
		PolicyHow: apiclient.PolicyHow{Version: p.Version, Note: "shorter", DryRun: true},
	}
	if would := step[apiclient.PolicyChanged](t, "dry run")(admin.SetPolicy(ctx, to)); !would.DryRun || would.Policy.Version != 2 || would.Effect.Live.Count != 1 {
		t.Errorf("a dry run: %+v", would)
	}
	to.DryRun = false
	if now := step[apiclient.PolicyChanged](t, "set")(admin.SetPolicy(ctx, to)); now.DryRun || now.Policy.Version != 2 || now.Policy.IdleTimeout != 36*time.Hour {
		t.Errorf("a change: %+v", now)
	}
	_, err := admin.SetPolicy(ctx, to)
	failsAs(t, "a change of what was changed", err, apiclient.VersionConflict)
	to.Version, to.IdleTimeout = 2, time.Second
	_, err = admin.SetPolicy(ctx, to)
	failsAs(t, "a timeout of a second", err, apiclient.ValidationFailed)
	step[apiclient.PolicyChanged](t, "revert")(admin.RevertPolicy(ctx, 1, apiclient.PolicyHow{Version: 2}))
	step[apiclient.PolicyChanged](t, "revert")(admin.RevertPolicy(ctx, 2, apiclient.PolicyHow{Version: 3, Confirm: true}))
	var versions []int64
	for _, p := range all(t, "history", admin.PolicyHistory(ctx)) {
		versions = append(versions, p.Version)
	}
	if !slices.Equal(versions, []int64{4, 3, 2, 1}) {
		t.Errorf("history: %v", versions)
	}
}

func callUsers(ctx context.Context, t *testing.T, admin *apiclient.Client, second apiclient.Password) {
	password := apiclient.NewPassword(e2e.NewPassword())
	made := step[apiclient.User](t, "create")(admin.CreateUser(ctx, apiclient.NewUser{Username: "Oscar", Password: password, Role: "service", Reason: "orders"}))
	if made.Username != "oscar" || made.Role != "service" || !made.DisabledAt.IsZero() {
		t.Errorf("created: %+v", made)
	}
	for n := range 3 {
		step[apiclient.User](t, "create")(admin.CreateUser(ctx, apiclient.NewUser{Username: fmt.Sprintf("oscar%d", n), Password: password, Role: "user"}))
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
	begin := func() (*apiclient.Client, apiclient.Login) {
		in := step[apiclient.Login](t, "login")(admin.Login(ctx, apiclient.Credentials{Username: "oscar", Password: password}))
		return admin.As(in.Token), in
	}
	oscar, in := begin()
	alice := step[apiclient.Login](t, "login")(admin.Login(ctx, apiclient.Credentials{Username: "alice", Password: second}))
	if who := step[apiclient.Introspection](t, "introspect")(oscar.Introspect(ctx, alice.Token)); !who.Active || who.Username != "alice" ||
		who.SessionID != alice.SessionID || who.ExpiresAt.IsZero() {
		t.Errorf("introspected: %+v", who)
	}
	if err := oscar.Revoke(ctx, alice.Token); err != nil {
		t.Fatal(err)
	}
	if who := step[apiclient.Introspection](t, "introspect")(oscar.Introspect(ctx, alice.Token)); who != (apiclient.Introspection{}) {
		t.Errorf("introspected after the end: %+v", who)
	}
	_, err := admin.As(flakepass.NewToken(1)).Introspect(ctx, alice.Token)
	failsAs(t, "introspection by nobody", err, apiclient.TokenExpired)

	if s := all(t, "sessions", admin.Sessions(ctx)); len(s) != 2 || s[0].ID != in.SessionID || s[0].Username != "oscar" || s[0].UserID != made.ID {
		t.Errorf("sessions: %+v", s)
	}
	if s := step[apiclient.UserSession](t, "session")(admin.Session(ctx, in.SessionID)); s.ID != in.SessionID {
		t.Errorf("session: %+v", s)
	}
	step[time.Duration](t, "end")(admin.EndSession(ctx, in.SessionID, "lost phone"))
	step[time.Duration](t, "end again")(admin.EndSession(ctx, in.SessionID, ""))
	_, err = admin.Session(ctx, in.SessionID)
	failsAs(t, "a login that is over", err, apiclient.NotFound)
	_, _ = begin()
	if p := step[apiclient.Person](t, "user")(admin.User(ctx, made.ID)); p.Session == nil || p.Username != "oscar" {
		t.Errorf("person: %+v", p)
	}
	step[time.Duration](t, "logout user")(admin.LogoutUser(ctx, made.ID, ""))
	_, err = admin.User(ctx, 1)
	failsAs(t, "nobody", err, apiclient.NotFound)
	yes, role := true, "user"
	changed := step[apiclient.UserChanged](t, "change")(admin.ChangeUser(ctx, made.ID, apiclient.UserChange{Disabled: &yes, Role: &role, Reason: "left"}))
	if changed.Person == nil || changed.Within != 0 || changed.Person.DisabledAt.IsZero() || changed.Person.Role != "user" || changed.Person.Session != nil {
		t.Errorf("changed: %+v", changed)
	}
	root := all(t, "root", admin.Users(ctx, "root"))[0]
	_, err = admin.ChangeUser(ctx, root.ID, apiclient.UserChange{Disabled: &yes})
	failsAs(t, "the last admin", err, apiclient.LastAdmin)
	if s := step[apiclient.Stats](t, "stats")(admin.Stats(ctx)); s.Users.Count != 6 || s.Disabled.Count != 1 || s.Roles.Admin.Count != 1 || s.LiveLogins.Count != 1 {
		t.Errorf("stats: %+v", s)
	}
}

func callSweeps(ctx context.Context, t *testing.T, admin *apiclient.Client) {
	s := step[apiclient.Sweep](t, "sweep")(admin.StartSweep(ctx))
	testenv.Eventually(t, e2e.Patience, func() bool {
		for _, one := range all(t, "sweeps", admin.Sweeps(ctx)) {
			if one.ID == s.ID {
				return one.Outcome == "done" && !one.FinishedAt.IsZero() && one.RequestedBy == "root"
			}
		}
		return false
	}, "the sweep that was asked for is done")
}
