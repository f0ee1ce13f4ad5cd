package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// TestMyEventNamesNobodyElse: of values only what is known to be the user's own is left, at
// any depth, and a coded reason loses what names others.
func TestMyEventNamesNobodyElse(t *testing.T) {
	e := audit.Event{
		ID: 9, Action: audit.ResetRefused, Target: audit.AboutUser(7, "ada"), Reason: "reset_token_invalid: issued by root@vm, in a shell", By: audit.Actor{Address: "192.0.2.7"},
		Old: []byte(`[{"session_id":"5","device_name":"phone","issuer":"zebulon"},{"by":{"name":"zebulon"}}]`),
		New: []byte(`{"count":12345678901234567,"issuer":"zebulon","issued_by":"8","role":"user","what comes later":"zebulon"}`),
	}
	text, err := json.Marshal(render.MyEvent(&e, 7, "ada"))
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, want := range []string{`"reason":"reset_token_invalid"`, `"old":[{"device_name":"phone","session_id":"5"},{}]`, `"new":{"count":12345678901234567,"role":"user"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if strings.Contains(got, "address") {
		t.Errorf("the address of somebody: %s", got)
	}
	for _, action := range []audit.Action{audit.LoginNewPlace, audit.LoginAfterMisses} {
		e.Action, e.New = action, []byte("no JSON")
		if own := render.MyEvent(&e, 7, "ada"); own.Address != "192.0.2.7" || own.New != nil {
			t.Errorf("%s by the user: %+v", action, own)
		}
		if other := render.MyEvent(&e, 8, "bob"); other.Address != "" || other.Old != nil {
			t.Errorf("%s by another: %+v", action, other)
		}
	}
}

// TestMyEventHasNoNameOfWhomAnAdminActedFor: earlier versions have written it into the event of
// the end of all logins of the admin.
func TestMyEventHasNoNameOfWhomAnAdminActedFor(t *testing.T) {
	e := audit.Event{ID: 9, Action: audit.LoginLoggedOut, Target: audit.AboutUser(7, "root"), By: audit.Actor{ID: 7, Name: "root"},
		Old: []byte(`[{"session_id":"50","user_id":"7","username":"root"},{"session_id":"60","user_id":"8","username":"zebulon"}]`)}
	if got := string(render.MyEvent(&e, 7, "root").Old); got != `[{"session_id":"50","user_id":"7","username":"root"},{"session_id":"60","user_id":"8"}]` {
		t.Errorf("the export of root has %s", got)
	}
}
