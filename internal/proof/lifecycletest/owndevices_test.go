package lifecycletest

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/server/run"
)

// devices is a deployment whose users have up to three logins at a time. Its instance
// learns of a change of the rows, which says nothing in the feed, only in five minutes.
type devices struct {
	*e2e.Client
	t  *testing.T
	d  *e2e.Deployment
	db *sql.DB
}

func newDevices(t *testing.T) *devices {
	t.Helper()
	d := e2e.OnSQLite(t)
	e2e.Must(t, d.Vars, "", "migrate", "up")
	db := d.SQL(t)
	e2e.Execute(t, db, "UPDATE settings SET max_sessions = 3, slots = 2 WHERE scope = 'global'")
	i := d.Start(t, "FLAKEPASS_REVOCATION_BOUND", "5m")
	return &devices{e2e.NewClient(t, i.Public), t, d, db}
}

// person is a user with a login on a phone, a tablet and the web, in that order.
func (f *devices) person(name string) (password string, tokens [3]string) {
	f.t.Helper()
	password = e2e.NewPassword()
	f.Want(f.Register(name, password), 201, "")
	for i, class := range []string{"phone", "tablet", "web"} {
		body := strings.TrimSuffix(e2e.Object("username", name, "password", password), "}") + `,"device":{"class":"` + class + `","name":"` + name + `’s"}}`
		tokens[i] = f.Want(f.Do("POST", "/v1/login", body), 200, "").Field("token")
	}
	return password, tokens
}

// unproven makes the proof of every login eleven minutes old.
func (f *devices) unproven() {
	f.t.Helper()
	for _, table := range []string{"users", "user_slots"} {
		e2e.Execute(f.t, f.db, "UPDATE "+table+" SET token_proved_at = token_proved_at - 660000")
	}
}

// list is what the user of that token sees, each as "class ID", the one that asks with a *.
func (f *devices) list(token string) (seen []string) {
	f.t.Helper()
	var all struct {
		Sessions []struct {
			ID      string
			Device  struct{ Class string }
			Current bool
		}
	}
	a := f.Want(f.Do("GET", "/v1/me/sessions", "", e2e.Bearer(token)), 200, "")
	if err := json.Unmarshal(a.Body, &all); err != nil {
		f.t.Fatal(err)
	}
	for _, s := range all.Sessions {
		seen = append(seen, s.Device.Class+" "+s.ID+map[bool]string{true: "*"}[s.Current])
	}
	return seen
}

func (f *devices) end(by, token string) e2e.Answer {
	f.t.Helper()
	return f.Do("DELETE", "/v1/me/sessions/"+e2e.IDOf(token), "", e2e.Bearer(by))
}

// others are the answers of a logout of the others.
func (f *devices) others(token string) e2e.Answer {
	f.t.Helper()
	return f.Do("POST", "/v1/me/sessions/logout-others", "", e2e.Bearer(token))
}

func (f *devices) everywhere(token string) e2e.Answer {
	f.t.Helper()
	return f.Do("POST", "/v1/logout", `{"everywhere":true}`, e2e.Bearer(token))
}

// record are the events of the holder's ends, oldest first.
func (f *devices) record() (got []string) {
	f.t.Helper()
	events, err := run.EventsOf(f.d.Open(f.t)).List(f.t.Context(), audit.Filter{Limit: 50, Action: audit.LoginLoggedOut})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range slices.Backward(events) {
		if e.By.Address != "" || e.By.RequestID == "" || e.By.Via != audit.ViaAPI || e.New != nil {
			f.t.Errorf("by %+v, new %s", e.By, e.New)
		}
		got = append(got, fmt.Sprintf("%s: %s %s, %s, %d", e.By.Name, e.Target.Kind, e.Target.Name, e.Reason, strings.Count(string(e.Old), `"session_id"`)))
	}
	return got
}

func TestPeopleSeeTheirDevices(t *testing.T) {
	t.Parallel()
	f := newDevices(t)
	_, ada := f.person("ada")
	f.person("eve")
	for i, token := range ada {
		want := []string{"web " + e2e.IDOf(ada[2]), "tablet " + e2e.IDOf(ada[1]), "phone " + e2e.IDOf(ada[0])}
		want[2-i] += "*"
		if got := f.list(token); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// What is idle by the policy in force is not shown, although the row has it.
	tablet := "UPDATE user_slots SET token_seen_at = token_seen_at - 1209700000 WHERE token_id = ?"
	e2e.Execute(t, f.db, tablet, e2e.IDOf(ada[1]))
	if got := f.list(ada[0]); len(got) != 2 || strings.HasPrefix(got[1], "tablet") {
		t.Errorf("got %q, and the tablet is idle", got)
	}
	// The rows are asked: this instance remembers that the web lives.
	e2e.Execute(t, f.db, "UPDATE user_slots SET ended_token_id = token_id, ended_token_hash = token_hash, ended_reason = 'revoked', token_floor = token_id, "+
		"token_id = NULL, token_hash = NULL, token_seen_at = NULL WHERE token_id = ?", e2e.IDOf(ada[2]))
	f.Alive(ada[2])
	if got := f.list(ada[0]); len(got) != 1 {
		t.Errorf("got %q, and the web has ended", got)
	}
}

// TestPeopleEndOneDevice: with a proof, and never that of another user, of whose login
// the answer tells nothing.
func TestPeopleEndOneDevice(t *testing.T) {
	t.Parallel()
	f := newDevices(t)
	password, ada := f.person("ada")
	_, eve := f.person("eve")

	f.Want(f.end(ada[0], ada[1]), 204, "") // a new login has proven both
	f.Dead(ada[1], "token_logged_out")
	f.unproven()
	f.Want(f.end(ada[0], ada[2]), 403, "reauthentication_required")
	f.Want(f.end(ada[0], ada[1]), 403, "reauthentication_required") // although it is over
	f.Want(f.end(ada[0], eve[0]), 404, "not_found")
	f.Alive(ada[2])
	f.Want(f.Do("POST", "/v1/me/reauthenticate", e2e.Object("password", password), e2e.Bearer(ada[0])), 204, "")
	f.Want(f.end(ada[2], ada[0]), 403, "reauthentication_required") // a proof is of one login
	f.Want(f.end(ada[0], ada[1]), 204, "")

	foreign, unknown := f.Want(f.end(ada[0], eve[0]), 404, "not_found"), f.Want(f.Do("DELETE", "/v1/me/sessions/4711", "", e2e.Bearer(ada[0])), 404, "not_found")
	delete(foreign.Fields, "request_id")
	delete(unknown.Fields, "request_id")
	if fmt.Sprint(foreign.Fields) != fmt.Sprint(unknown.Fields) {
		t.Errorf("a foreign login is %s, an unknown one %s", foreign.Body, unknown.Body)
	}
	for _, token := range eve {
		f.Alive(token)
	}
	f.Want(f.Do("DELETE", "/v1/me/sessions/0x17", "", e2e.Bearer(ada[0])), 404, "not_found")

	f.Want(f.end(ada[0], ada[2]), 204, "")
	f.Dead(ada[2], "token_logged_out")
	f.unproven()
	f.Want(f.end(ada[0], ada[0]), 204, "") // that is a logout
	f.Dead(ada[0], "token_logged_out")
	f.Want(f.end(ada[0], ada[0]), 401, "token_logged_out")
	want := []string{"ada: login ada, another_device, 1", "ada: login ada, another_device, 1", "ada: login ada, , 1"}
	if got := f.record(); !slices.Equal(got, want) {
		t.Errorf("on record: %q, want %q", got, want)
	}
}

func TestPeopleEndTheirOtherDevices(t *testing.T) {
	t.Parallel()
	f := newDevices(t)
	password, ada := f.person("ada")
	_, eve := f.person("eve")
	f.unproven()
	f.Want(f.others(ada[1]), 403, "reauthentication_required")
	for _, token := range ada {
		f.Alive(token)
	}
	f.Want(f.Do("POST", "/v1/me/reauthenticate", e2e.Object("password", password), e2e.Bearer(ada[1])), 204, "")
	for _, want := range []string{`{"ended":2}`, `{"ended":0}`} {
		if a := f.Want(f.others(ada[1]), 200, ""); string(a.Body) != want {
			t.Errorf("got %s, want %s", a.Body, want)
		}
	}
	f.Dead(ada[0], "token_logged_out")
	f.Dead(ada[2], "token_logged_out")
	f.Alive(ada[1])
	f.Alive(eve[0])
	f.unproven()
	f.Want(f.others(ada[1]), 403, "reauthentication_required") // also where there is nothing to end
	if got, want := f.record(), []string{"ada: user ada, other_devices, 2"}; !slices.Equal(got, want) {
		t.Errorf("on record: %q, want %q", got, want)
	}
}

// TestPeopleLogOutEverywhere: with no proof, and by a login that lives.
func TestPeopleLogOutEverywhere(t *testing.T) {
	t.Parallel()
	f := newDevices(t)
	_, ada := f.person("ada")
	_, eve := f.person("eve")
	f.unproven()
	f.Want(f.Logout(ada[0]), 204, "")
	f.Want(f.everywhere(ada[0]), 401, "token_logged_out")
	f.Want(f.everywhere(e2e.Forge(ada[1])), 401, "token_invalid")
	f.Want(f.Do("POST", "/v1/logout", "{}", e2e.Bearer(ada[0])), 204, "")
	f.Alive(ada[1])
	f.Want(f.everywhere(ada[1]), 204, "")
	for _, token := range ada {
		f.Dead(token, "token_logged_out")
	}
	for _, token := range eve {
		f.Alive(token)
	}
	if got, want := f.record(), []string{"ada: login ada, , 0", "ada: user ada, everywhere, 2"}; !slices.Equal(got, want) {
		t.Errorf("on record: %q, want %q", got, want)
	}
}

// TestWhoIsDisabledEndsNoDevice: the transaction sees what this instance has not read.
func TestWhoIsDisabledEndsNoDevice(t *testing.T) {
	t.Parallel()
	f := newDevices(t)
	_, ada := f.person("ada")
	f.Alive(ada[1])
	e2e.Execute(t, f.db, "UPDATE users SET disabled_at = 1700000000000 WHERE username = 'ada'")
	f.Alive(ada[1])
	for name, a := range map[string]e2e.Answer{"one": f.end(ada[1], ada[0]), "itself": f.end(ada[1], ada[1]), "the others": f.others(ada[1]), "all": f.everywhere(ada[1])} {
		if a.Status != 401 || a.Field("code") != "account_disabled" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if n := e2e.Count(t, f.db, "SELECT (SELECT COUNT(token_id) FROM users) + (SELECT COUNT(token_id) FROM user_slots)"); n != 3 {
		t.Errorf("%d logins are left", n)
	}
	if got := f.record(); len(got) != 0 {
		t.Errorf("on record: %q", got)
	}
}
