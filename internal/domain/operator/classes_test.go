package operator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// on begins a login of that user on a device.
func (d *desk) on(user idworker.ID, device *session.Device) idworker.ID {
	s := d.login(user, now)
	d.logins[len(d.logins)-1].Device = device
	return s.ID
}

// What an operator ends by class is in one event, which says so; each end is published.
func TestLogoutOfAClass(t *testing.T) {
	d := newDesk(t)
	u, other := d.add("alice", account.RoleUser), d.add("bob", account.RoleUser)
	one, web := d.on(u, session.DeviceOf("phone", "red")), d.on(u, session.DeviceOf("web", ""))
	two, his := d.on(u, session.DeviceOf("phone", "blue")), d.on(other, session.DeviceOf("phone", ""))
	ended, err := d.users.Logout(t.Context(), by, u, "phone", "lost")
	if err != nil || len(ended) != 2 || len(d.published) != 2 || len(d.events) != 1 {
		t.Fatalf("%+v, %v; %d published, events %+v", ended, err, len(d.published), d.events)
	}
	for _, id := range []idworker.ID{one, two} {
		if s, err := (kept{d}).Get(t.Context(), id); err != nil || s.Alive() {
			t.Errorf("%v lives: %v", id, err)
		}
	}
	for _, id := range []idworker.ID{web, his} {
		if s, err := (kept{d}).Get(t.Context(), id); err != nil || !s.Alive() {
			t.Errorf("%v ended: %v", id, err)
		}
	}
	if e := d.events[0]; e.Action != audit.LoginEnded || e.Reason != "lost" || string(e.New) != `{"ended_device_class":"phone"}` {
		t.Errorf("event %+v, old %s, new %s", e, e.Old, e.New)
	}
	if ended, err := d.users.Logout(t.Context(), by, u, "tv", ""); err != nil || len(ended) != 0 || len(d.events) != 1 {
		t.Errorf("of a class of which there is none: %+v, %v", ended, err)
	}
}

// A class that was mistyped is no class without logins, unless the policy has lost it and logins have it still.
func TestLogoutOfAClassThatIsNone(t *testing.T) {
	d := newDesk(t)
	u := d.add("alice", account.RoleUser)
	d.on(u, session.DeviceOf("watch", ""))
	_, err := d.users.Logout(t.Context(), by, u, "phnoe", "stolen")
	if wrong, ok := errors.AsType[*invalid.Error](err); !ok || wrong.Fields[0].Code != "unknown_value" || !strings.Contains(err.Error(), "phone, tablet") {
		t.Errorf("%v", err)
	}
	if ended, err := d.users.Logout(t.Context(), by, u, "watch", "stolen"); err != nil || len(ended) != 1 {
		t.Errorf("%+v, %v", ended, err)
	}
}

func TestWrongClassIsRefused(t *testing.T) {
	d := newDesk(t)
	u := d.add("alice", account.RoleUser)
	d.on(u, nil)
	_, listed := d.sessions.List(t.Context(), "Fridge", 0, 5)
	_, logout := d.users.Logout(t.Context(), by, u, "Fridge", "")
	for _, err := range []error{listed, logout} {
		if wrong, ok := errors.AsType[*invalid.Error](err); !ok || len(wrong.Fields) != 1 || wrong.Fields[0].Field != "device_class" {
			t.Errorf("%v", err)
		}
	}
	if len(d.events) != 0 || d.asked != 0 {
		t.Errorf("events %v, and looked at %d logins", d.events, d.asked)
	}
}
