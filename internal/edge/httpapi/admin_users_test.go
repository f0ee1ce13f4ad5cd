package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/edge/verb"
)

// A staff answers an operator with what a test has set, and notes what it was
// asked.
type staff struct {
	world
	role  string // of the caller
	err   error
	users []account.User
	open  []account.OpenReset

	by     audit.Actor
	asked  string
	change operator.UserChange
}

func (s *staff) Verify(context.Context, flakepass.Token) (flakepass.Identity, error) {
	is := who
	is.Role = s.role
	return is, nil
}

func (s *staff) note(_ context.Context, format string, args ...any) error {
	s.asked = fmt.Sprintf(format, args...)
	return s.err
}

func (s *staff) act(by audit.Actor, format string, args ...any) error {
	s.by, s.asked = by, fmt.Sprintf(format, args...)
	return s.err
}

var alice = account.User{ID: 41, Username: "alice", Role: account.RoleUser, CreatedAt: at, UpdatedAt: at}

var aliceLogin = session.Login{
	Session:  session.Session{ID: 412873650192384001, UserID: 41, Username: "alice", Role: "user", Seen: at, Device: session.DeviceOf("tablet", "Pixel")},
	IssuedAt: at, ExpiresAt: at.Add(time.Hour), IdleExpiresAt: at.Add(time.Minute),
}

func (s *staff) List(ctx context.Context, prefix, after string, limit int) ([]account.User, error) {
	return s.users[:min(limit, len(s.users))], s.note(ctx, "list %q after %q, %d", prefix, after, limit)
}

func (s *staff) Get(ctx context.Context, id idworker.ID) (operator.Person, error) {
	return operator.Person{User: alice, Logins: []session.Login{aliceLogin}}, s.note(ctx, "get %v", id)
}

func (s *staff) Create(_ context.Context, by audit.Actor, name string, _ account.Password, role account.Role, reason string) (account.User, error) {
	u := alice
	u.Role = role
	return u, s.act(by, "create %s as %s, %q", name, role, reason)
}

func (s *staff) Change(_ context.Context, by audit.Actor, id idworker.ID, c operator.UserChange) (operator.Person, []session.Session, error) {
	s.change = c
	u := alice
	u.DisabledAt = at
	return operator.Person{User: u}, nil, s.act(by, "change %v, %q", id, c.Reason)
}

func (s *staff) Logout(_ context.Context, by audit.Actor, id idworker.ID, class, reason string) ([]session.Session, error) {
	return []session.Session{aliceLogin.Session}, s.act(by, "logout %v%s, %q", id, class, reason)
}

// sessionVerbs has the verbs about logins, whose names are those about users.
type sessionVerbs struct{ *staff }

func (d sessionVerbs) List(ctx context.Context, class string, before idworker.ID, limit int) (operator.Page, error) {
	return operator.Page{Logins: []session.Login{aliceLogin}, Next: before}, d.note(ctx, "logins before %v, %d%s", before, limit, class)
}

func (d sessionVerbs) Get(ctx context.Context, id idworker.ID) (session.Login, error) {
	return aliceLogin, d.note(ctx, "login %v", id)
}

func (d sessionVerbs) End(_ context.Context, by audit.Actor, id idworker.ID, reason string) (session.Session, error) {
	return aliceLogin.Session, d.act(by, "end %v, %q", id, reason)
}

func (d sessionVerbs) EndAll(_ context.Context, by audit.Actor, reason string) (operator.EndedAll, error) {
	return operator.EndedAll{Lived: &policy.Estimate{Count: 9, Error: 2}}, d.act(by, "end all, %q", reason)
}

func (d sessionVerbs) Count(ctx context.Context) (operator.Numbers, error) {
	return operator.Numbers{Users: policy.Estimate{Count: 7}}, d.note(ctx, "count")
}

// adminAPI is the API for an operator.
func adminAPI(t testing.TB, s *staff) http.Handler {
	t.Helper()
	if s.role == "" {
		s.role = "admin"
	}
	return handler(t, &s.world, func(o *httpapi.Options) {
		o.Sessions = s
		o.People = verb.People{Users: s, Logout: s, Sessions: sessionVerbs{s}, Stats: sessionVerbs{s}, Resets: s, Open: s, Keys: s}
		o.Own.Links = s
	})
}

// peopleRoutes are the routes, a request that each takes, and what its verb is
// asked then.
var peopleRoutes = []struct {
	method, path, body string
	status             int
	asked              string
}{
	{"GET", "/v1/admin/users", "", 200, `list "" after "", 51`},
	{"GET", "/v1/admin/users?name=al&limit=7&cursor=41", "", 200, `list "al" after "41", 8`},
	{"POST", "/v1/admin/users", `{"username":"bob","password":"` + password + `","role":"service","reason":"an API"}`, 201, `create bob as service, "an API"`},
	{"POST", "/v1/admin/users", `{"username":"bob","role":"service","reset_lifetime_seconds":7200}`, 201, `invite bob as service for 2h0m0s, ""`},
	{"POST", "/v1/admin/users/41/password-reset", "", 201, `reset 41 for 0s, ""`},
	{"POST", "/v1/admin/users/41/password-reset", `{"reset_lifetime_seconds":900,"reason":"forgot it"}`, 201, `reset 41 for 15m0s, "forgot it"`},
	{"DELETE", "/v1/admin/users/41/password-reset", `{"reason":"found it"}`, 204, `withdraw reset 41, "found it"`},
	{"DELETE", "/v1/admin/users/41/issued-password-resets", `{"reason":"a thief"}`, 200, `withdraw resets by 41, "a thief"`},
	{"GET", "/v1/admin/password-resets", "", 200, "resets by 0 before 0, 51"},
	{"GET", "/v1/admin/password-resets?issued_by=41&limit=7&cursor=42", "", 200, "resets by 41 before 42, 8"},
	{"POST", "/v1/admin/users/41/keys", `{"name":"billing","scopes":["verify"],"reason":"new"}`, 201, `create key billing for 41, [verify], never, "new"`},
	{"POST", "/v1/admin/users/41/keys", `{"name":"billing","scopes":["verify","revoke"],"expires_at":"2027-11-21T09:12:33Z"}`, 201, `create key billing for 41, [verify revoke], 2027-11-21T09:12:33Z, ""`},
	{"GET", "/v1/admin/users/41/keys?limit=7&cursor=42", "", 200, "keys of 41 before 42, 8"},
	{"DELETE", "/v1/admin/keys/412873650192384001", `{"reason":"leaked"}`, 202, `revoke key 412873650192384001, "leaked"`},
	{"GET", "/v1/admin/users/41", "", 200, "get 41"},
	{"PATCH", "/v1/admin/users/41", `{"disabled":true,"reason":"left"}`, 200, `change 41, "left"`},
	{"POST", "/v1/admin/users/41/logout", "", 204, `logout 41, ""`},
	{"POST", "/v1/admin/users/41/logout", `{"reason":"lost phone"}`, 204, `logout 41, "lost phone"`},
	{"POST", "/v1/admin/users/41/logout", `{"device_class":"phone","reason":"lost phone"}`, 204, `logout 41phone, "lost phone"`},
	{"GET", "/v1/admin/sessions?limit=200", "", 200, "logins before 0, 200"},
	{"GET", "/v1/admin/sessions?device_class=phone", "", 200, "logins before 0, 50phone"},
	{"GET", "/v1/admin/sessions/412873650192384001", "", 200, "login 412873650192384001"},
	{"DELETE", "/v1/admin/sessions/412873650192384001", "", 204, `end 412873650192384001, ""`},
	{"DELETE", "/v1/admin/sessions/412873650192384001", `{"reason":"stolen"}`, 204, `end 412873650192384001, "stolen"`},
	{"POST", "/v1/admin/logout-all", `{"reason":"a leak"}`, 200, `end all, "a leak"`},
	{"GET", "/v1/admin/stats", "", 200, "count"},
}

// TestOperatorsRequestsReachTheirVerb: with who asks, and from where.
func TestOperatorsRequestsReachTheirVerb(t *testing.T) {
	for _, c := range peopleRoutes {
		s := &staff{users: []account.User{alice}}
		status, body := ask(t, adminAPI(t, s), c.method, c.path, c.body)
		if status != c.status || s.asked != c.asked {
			t.Errorf("%s %s: got %d %s and asked %s, want %d and %s", c.method, c.path, status, body, s.asked, c.status, c.asked)
		}
		if c.method != http.MethodGet && (s.by.ID != session.UserOf(who) || s.by.Name != who.Username || s.by.Via != audit.ViaAPI || s.by.RequestID == "") {
			t.Errorf("%s %s: by %+v", c.method, c.path, s.by)
		}
	}
}

// TestOnlyAdminsReachTheVerbs: no other role does, whatever the request.
func TestOnlyAdminsReachTheVerbs(t *testing.T) {
	for _, role := range []string{"user", "service", "Admin", "admin ", "root"} {
		for _, c := range peopleRoutes {
			s := &staff{role: role}
			status, body := ask(t, adminAPI(t, s), c.method, c.path, c.body)
			if status != 403 || !strings.Contains(body, `"code":"forbidden"`) || s.asked != "" {
				t.Errorf("%s: %s %s: got %d %s, asked %s", role, c.method, c.path, status, body, s.asked)
			}
		}
	}
	for _, c := range peopleRoutes {
		s := &staff{}
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://x"+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := direct{adminAPI(t, s)}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || s.asked != "" {
			t.Errorf("without a token: %s %s: got %d, asked %s", c.method, c.path, resp.StatusCode, s.asked)
		}
	}
}

// TestOperatorsErrorsBecomeProblems: also where the path or the body is wrong.
func TestOperatorsErrorsBecomeProblems(t *testing.T) {
	wrong := &invalid.Error{Fields: []invalid.Field{{Field: "role", Code: account.CodeUnknown, Message: "must be one"}}}
	long := `{"reason":"` + strings.Repeat("x", 9000) + `"}`
	for _, c := range []struct {
		method, path, body string
		err                error
		status             int
		code               string
	}{
		{"GET", "/v1/admin/users/41", "", account.ErrNotFound, 404, "not_found"},
		{"GET", "/v1/admin/users/0", "", nil, 404, "not_found"},
		{"GET", "/v1/admin/users/041", "", nil, 404, "not_found"},
		{"GET", "/v1/admin/users/alice", "", nil, 404, "not_found"},
		{"GET", "/v1/admin/users/9223372036854775808", "", nil, 404, "not_found"},
		{"GET", "/v1/admin/users/%00", "", nil, 404, "not_found"},
		{"PATCH", "/v1/admin/users/-1", `{}`, nil, 404, "not_found"},
		{"PATCH", "/v1/admin/users/41", `{}`, account.ErrNotFound, 404, "not_found"},
		{"PATCH", "/v1/admin/users/41", `{}`, account.ErrLastAdmin, 409, "last_admin"},
		{"PATCH", "/v1/admin/users/41", `{}`, wrong, 422, "validation_failed"},
		{"PATCH", "/v1/admin/users/41", `{}`, session.ErrUnpublished, 202, ""},
		{"PATCH", "/v1/admin/users/41", `{}`, context.DeadlineExceeded, 503, "unavailable"},
		{"PATCH", "/v1/admin/users/41", `{"role":null}`, nil, 400, "body_malformed"},
		{"PATCH", "/v1/admin/users/41", `{"disabled":null}`, nil, 400, "body_malformed"},
		{"PATCH", "/v1/admin/users/41", `{"disabled":"true"}`, nil, 400, "body_malformed"},
		{"PATCH", "/v1/admin/users/41", `{"disabled":1}`, nil, 400, "body_malformed"},
		{"PATCH", "/v1/admin/users/41", `{"password":"x"}`, nil, 400, "body_malformed"},
		{"PATCH", "/v1/admin/users/41", ``, nil, 400, "body_malformed"},
		{"POST", "/v1/admin/users", `{"username":"bob","password":"x","role":"user"}`, wrong, 422, "validation_failed"},
		{"POST", "/v1/admin/users", `{"username":"bob","password":"x","role":"user"}`, account.ErrExists, 409, "username_taken"},
		{"POST", "/v1/admin/users", `{"username":"bob","password":"x","role":"user"}`, account.ErrBusy, 503, "busy"},
		{"POST", "/v1/admin/users", `{"username":"bob","password":"x","role":"user","id":"7"}`, nil, 400, "body_malformed"},
		{"POST", "/v1/admin/users/41/logout", "", account.ErrNotFound, 404, "not_found"},
		{"POST", "/v1/admin/users/41/logout", "", session.ErrUnpublished, 202, ""},
		{"POST", "/v1/admin/users/41/logout", "x", nil, 400, "body_malformed"},
		{"POST", "/v1/admin/users/41/logout", `{"device_class":""}`, nil, 422, "validation_failed"}, // and never all of them
		{"POST", "/v1/admin/users/41/logout", `{"device_class":null}`, nil, 400, "body_malformed"},
		{"GET", "/v1/admin/sessions?device_class=", "", nil, 422, "validation_failed"},
		{"POST", "/v1/admin/users/41/logout", long, nil, 413, "body_too_large"},
		{"POST", "/v1/admin/users/x/logout", "", nil, 404, "not_found"},
		{"GET", "/v1/admin/sessions/7", "", session.ErrNotFound, 404, "not_found"},
		{"GET", "/v1/admin/sessions/x", "", nil, 404, "not_found"},
		{"DELETE", "/v1/admin/sessions/7", "", session.ErrNotFound, 404, "not_found"},
		{"DELETE", "/v1/admin/sessions/7", "", session.ErrUnpublished, 202, ""},
		{"DELETE", "/v1/admin/sessions/7", `{"why":"x"}`, nil, 400, "body_malformed"},
		{"DELETE", "/v1/admin/sessions/7", `{"reason":null}`, nil, 400, "body_malformed"},
		{"DELETE", "/v1/admin/sessions/7x", "", nil, 404, "not_found"},
		{"POST", "/v1/admin/logout-all", "", idworker.ErrNoGrant, 503, "unavailable"},
		{"GET", "/v1/admin/stats", "", context.DeadlineExceeded, 503, "unavailable"},
		{"GET", "/v1/admin/users?name=al&cursor=3", "", wrong, 422, "validation_failed"},
		{"PUT", "/v1/admin/users/41", "", nil, 405, "method_not_allowed"},
		{"GET", "/v1/admin/logout-all", "", nil, 405, "method_not_allowed"},
		{"GET", "/v1/admin/users/", "", nil, 404, "not_found"},
		{"GET", "/v1/admin", "", nil, 404, "not_found"},
	} {
		s := &staff{err: c.err}
		if c.err != nil {
			s.err = fmt.Errorf("operator: verb: %w", c.err)
		}
		status, body := ask(t, adminAPI(t, s), c.method, c.path, c.body)
		if status != c.status || !strings.Contains(body, c.code) {
			t.Errorf("%s %s %.40s with %v: got %d %s, want %d %s", c.method, c.path, c.body, c.err, status, body, c.status, c.code)
		}
		if c.err == nil && s.asked != "" {
			t.Errorf("%s %s %.40s: asked %s", c.method, c.path, c.body, s.asked)
		}
		if status == 202 && body != `{"effective_within_ms":5000}` {
			t.Errorf("%s %s: %s", c.method, c.path, body)
		}
	}
}

// TestPatchChangesWhatItNamesOnly: what is left out is as it is.
func TestPatchChangesWhatItNamesOnly(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                               "as it is, as it is",
		`{"role":"admin"}`:                 "admin, as it is",
		`{"disabled":false}`:               "as it is, false",
		`{"disabled":true,"role":"user"}`:  "user, true",
		`{"role":"","reason":"no role"}`:   ", as it is",
		`{"role":"king","disabled":false}`: "king, false",
	} {
		s := &staff{}
		ask(t, adminAPI(t, s), "PATCH", "/v1/admin/users/41", body)
		got := [2]string{"as it is", "as it is"}
		if s.change.Role != nil {
			got[0] = string(*s.change.Role)
		}
		if s.change.Disabled != nil {
			got[1] = fmt.Sprint(*s.change.Disabled)
		}
		if strings.Join(got[:], ", ") != want {
			t.Errorf("%s: %v, want %s", body, got, want)
		}
	}
}

// TestPageSaysWhetherThereIsAnother: by one entry more than it shows.
func TestPageSaysWhetherThereIsAnother(t *testing.T) {
	s := &staff{}
	for i := range 8 {
		u := alice
		u.ID += idworker.ID(i)
		s.users = append(s.users, u)
	}
	for limit, want := range map[int]string{7: `"next_cursor":"47"}`, 8: `}]}`, 9: `}]}`} {
		_, body := ask(t, adminAPI(t, s), "GET", fmt.Sprintf("/v1/admin/users?limit=%d", limit), "")
		if !strings.HasSuffix(body, want) || strings.Count(body, `"username"`) != min(limit, 8) {
			t.Errorf("limit %d: %s, want %s", limit, body, want)
		}
	}
	s.users = nil
	if _, body := ask(t, adminAPI(t, s), "GET", "/v1/admin/users", ""); body != `{"users":[]}` {
		t.Errorf("unknown user: %s", body)
	}
}

// TestAnswersToOperators: what they say, to the letter.
func TestAnswersToOperators(t *testing.T) {
	login := `"id":"412873650192384001","device":{"class":"tablet","name":"Pixel"},"issued_at":"2026-11-21T09:12:33.123Z","last_seen_at":"2026-11-21T09:12:33.123Z",` +
		`"expires_at":"2026-11-21T10:12:33.123Z","idle_expires_at":"2026-11-21T09:13:33.123Z","auth_method":"pwd","auth_time":"2018-02-12T23:32:29.027Z"`
	user := `"id":"41","username":"alice","role":"user","second_factor":false,`
	times := `"created_at":"2026-11-21T09:12:33.123Z","updated_at":"2026-11-21T09:12:33.123Z"`
	for path, want := range map[string]string{
		"/v1/admin/users/41":                    `{` + user + times + `,"session":{` + login + `},"sessions":[{` + login + `}]}`,
		"/v1/admin/users":                       `{"users":[{` + user + times + `}]}`,
		"/v1/admin/sessions?cursor=9":           `{"sessions":[{` + login + `,"user_id":"41","username":"alice","role":"user"}],"next_cursor":"9"}`,
		"/v1/admin/sessions/412873650192384001": `{` + login + `,"user_id":"41","username":"alice","role":"user"}`,
	} {
		s := &staff{users: []account.User{alice}}
		if _, body := ask(t, adminAPI(t, s), "GET", path, ""); body != want {
			t.Errorf("%s: got %s, want %s", path, body, want)
		}
	}
	if _, body := ask(t, adminAPI(t, &staff{}), "PATCH", "/v1/admin/users/41", `{"disabled":true}`); body != `{`+user+`"disabled_at":"2026-11-21T09:12:33.123Z",`+times+`}` {
		t.Errorf("PATCH: %s", body)
	}
	if _, body := ask(t, adminAPI(t, &staff{}), "POST", "/v1/admin/logout-all", ""); body != `{"ended":{"count":9,"error":2},"effective_within_ms":5000}` {
		t.Errorf("logout-all: %s", body)
	}
}
