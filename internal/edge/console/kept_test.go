package console_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/verb"
)

var errReason = invalid.Of("reason", "invalid", "must be one line")

// fussy refuses the reason of everything that is done about a user.
type fussy struct {
	*crowd
	verb.Resets
	verb.Names
	verb.Keys
}

func (fussy) CreateKey(context.Context, audit.Actor, idworker.ID, operator.NewKey) (k operator.MadeKey, err error) {
	return k, errReason
}

func (fussy) Change(context.Context, audit.Actor, idworker.ID, operator.UserChange) (p operator.Person, ended []session.Session, err error) {
	return p, nil, errReason
}

func (fussy) Logout(context.Context, audit.Actor, idworker.ID, string, string) ([]session.Session, error) {
	return nil, errReason
}

func (fussy) Delete(context.Context, audit.Actor, idworker.ID, string, string) ([]session.Session, error) {
	return nil, errReason
}

func (fussy) RemoveSecondFactor(context.Context, audit.Actor, idworker.ID, string) ([]session.Session, error) {
	return nil, errReason
}

func (fussy) StartReset(context.Context, audit.Actor, idworker.ID, time.Duration, string) (r operator.StartedReset, err error) {
	return r, errReason
}

func (fussy) Impersonate(context.Context, audit.Actor, idworker.ID, string) (o session.Opened, err error) {
	return o, errReason
}

func (fussy) ChangeNames(context.Context, audit.Actor, idworker.ID, operator.NameChange) (account.User, error) {
	return account.User{}, errReason
}

// What was typed on the page of a user is there once more, with what is wrong with it, in
// the form in which it was typed.
func TestRefusedFormAboutAUserKeepsWhatWasTyped(t *testing.T) {
	w := newWorld(t)
	c := w.furnish(true)
	crowd := w.populate(3)
	crowd.users[1].SecondFactorAt, crowd.users[2].DisabledAt = w.now, w.now
	w.giveOpenLinks(1)
	f := fussy{crowd: crowd, Keys: w.giveKeys(crowd, 1)}
	p := &w.ui.People
	p.Users, p.Logout, p.Deletion, p.Factors, p.Resets, p.Acts, p.Names, p.Keys = f, f, f, f, f, f, f, f
	w.h = w.ui.Handler()
	const reason = ` name="reason" type="text" value="because"`
	for name, tt := range map[string]struct {
		path  string
		typed []string
		kept  []string
	}{
		"role":     {"8", []string{"do", "role", "role", "service"}, []string{`<option value="service" selected>`}},
		"disabled": {"8", []string{"do", "disabled"}, nil},
		"enabled":  {"9", []string{"do", "enabled"}, nil},
		"names": {
			"8", []string{"do", "names", "username", "user9", "was", "user001", "aliases", "a@example.org\n+4915112345678", "had", ""},
			[]string{`value="user9"`, ">a@example.org\n&#43;4915112345678</textarea>", `name="was" value="user001"`},
		},
		"factor": {"8/second-factor", nil, nil},
		"give":   {"8/reset", []string{"life", "28800"}, []string{`<option value="28800" selected>`}},
		"act":    {"8/impersonate", nil, nil},
		"delete": {"8/delete", []string{"username", "user001"}, []string{`id="delete-name" name="username" type="text" value="user001"`}},
		"key": {
			"9/keys", []string{"name", "billing", "scope_verify", "on", "life", "90"},
			[]string{`value="billing"`, `name="scope_verify" value="on" checked`, `<option value="90" selected>`},
		},
		"logout":   {"8/logout", []string{"device_class", "other"}, []string{`<option value="other" selected>`}},
		"withdraw": {"7/resets/withdraw", []string{"reason", "bad"}, []string{` name="reason" type="text" value="bad"`}},
	} {
		sent := tt.typed
		if name != "withdraw" {
			sent, tt.kept = append(sent, "reason", "because"), append(tt.kept, reason)
		}
		page := w.sendForm(c, "/console/users/"+tt.path, sent...)
		if page.Code != 422 {
			t.Errorf("%s: %d\n%s", name, page.Code, page.Body)
		}
		for _, want := range tt.kept {
			if n := strings.Count(page.Body.String(), want); n != 1 {
				t.Errorf("%s: %d times %s", name, n, want)
			}
		}
		wantNoText(t, page, `name="confirm_password"`)
	}
}
