package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

type opener struct {
	asked []session.Act
	err   error
}

func (o *opener) Impersonate(_ context.Context, a session.Act) (session.Opened, error) {
	o.asked = append(o.asked, a)
	return session.Opened{}, o.err
}

// TestActingForAUser takes a person who is logged in, a proof and a reason, and has to be on.
func TestActingForAUser(t *testing.T) {
	root := audit.Actor{ID: 7, Session: 8, Name: "root", Via: audit.ViaAPI}
	o := &opener{}
	u := &operator.Users{Sessions: &operator.Sessions{}}
	if _, err := u.Impersonate(t.Context(), root, 42, "ticket"); !errors.Is(err, operator.ErrImpersonationOff) {
		t.Errorf("off: %v", err)
	}
	u.Impersonations = o
	if _, err := u.Impersonate(t.Context(), audit.Actor{Name: "root@host", Via: audit.ViaCLI}, 42, "ticket"); !errors.Is(err, audit.ErrRole) {
		t.Errorf("by a shell: %v", err)
	}
	for _, reason := range []string{"", " \t", "\u200b", " \u3164\n", "\u2800", "\ufe0f", strings.Repeat("x", audit.MaxReason+1), "a\x00b"} {
		_, err := u.Impersonate(t.Context(), root, 42, reason)
		if wrong, ok := errors.AsType[*invalid.Error](err); !ok || wrong.Fields[0].Field != "reason" {
			t.Errorf("%.5q: %v", reason, err)
		}
	}
	if len(o.asked) != 0 {
		t.Errorf("asked %+v", o.asked)
	}
	if _, err := u.Impersonate(t.Context(), root, 42, "ticket"); err != nil || len(o.asked) != 1 || o.asked[0] != (session.Act{User: 42, By: root, Need: audit.NeedsProof, Reason: "ticket"}) {
		t.Errorf("asked %+v, %v", o.asked, err)
	}
	for _, want := range []error{session.ErrNotUser, account.ErrDisabled, audit.ErrUnproven} {
		o.err = want
		if _, err := u.Impersonate(t.Context(), root, 42, "ticket"); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	o.err = &policy.OlderInstanceError{Name: "a", Version: "0"}
	if _, err := u.Impersonate(t.Context(), root, 42, "ticket"); !strings.Contains(err.Error(), "upgrade it first") {
		t.Errorf("beside an older instance: %v", err)
	}
}
