package console_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

// serviceKeys are the keys of services, in memory, oldest first.
type serviceKeys struct {
	w     *world
	keys  []servicekey.Key
	last  flakepass.ServiceKey
	calls []string
	err   error
}

// giveKeys makes user002, whose ID is 9, a service with n keys.
func (w *world) giveKeys(c *crowd, n int) *serviceKeys {
	s := &serviceKeys{w: w}
	c.users[2].Role = account.RoleService
	for i := range n {
		s.keys = append(s.keys, servicekey.Key{
			ID: idworker.ID(412873650192384000 + i), UserID: 9, Name: fmt.Sprintf("key%03d", i), Scopes: servicekey.Known(), Creator: servicekey.Creator{ID: 7, Name: "ada"},
		})
	}
	w.ui.People.Keys = s
	w.h = w.ui.Handler()
	return s
}

func (s *serviceKeys) CreateKey(_ context.Context, by audit.Actor, user idworker.ID, n operator.NewKey) (operator.MadeKey, error) {
	if err := errors.Join(s.err, s.w.proof()); err != nil {
		return operator.MadeKey{}, err
	}
	scopes, err := servicekey.ParseScopes(n.Scopes)
	if err == nil {
		err = servicekey.CheckName(n.Name)
	}
	if err != nil {
		return operator.MadeKey{}, err
	}
	s.calls = append(s.calls, fmt.Sprintf("create %s for %v, %s, %v, %q, by %s", n.Name, user, scopes.Text(), n.ExpiresAt.Sub(s.w.now), n.Reason, by.Name))
	id := idworker.ID(412873650192384900)
	s.last = flakepass.NewServiceKey(flakepass.ID(id))
	k := servicekey.Key{ID: id, UserID: user, Name: n.Name, Scopes: scopes}
	s.keys = append(s.keys, k)
	return operator.MadeKey{Key: k, Secret: s.last}, nil
}

func (s *serviceKeys) ListKeys(_ context.Context, user, before idworker.ID, limit int) (found []servicekey.Key, err error) {
	for i := len(s.keys) - 1; i >= 0; i-- {
		if k := s.keys[i]; k.UserID == user && (before == 0 || k.ID < before) && len(found) < limit {
			found = append(found, k)
		}
	}
	return found, s.err
}

func (s *serviceKeys) RevokeKey(_ context.Context, _ audit.Actor, id idworker.ID, reason string) (servicekey.Key, error) {
	if s.err != nil {
		return servicekey.Key{}, s.err
	}
	for i := range s.keys {
		if s.keys[i].ID == id {
			s.keys[i].RevokedAt = s.w.now
			s.calls = append(s.calls, "revoke "+id.String()+" "+reason)
			return s.keys[i], nil
		}
	}
	return servicekey.Key{}, servicekey.ErrNotFound
}

// The page of a service lists its keys, makes one that is shown once, and revokes one.
func TestKeysOfAServiceAreMadeShownOnceAndRevoked(t *testing.T) {
	w := newWorld(t)
	s := w.giveKeys(w.populate(3), 30)
	c := w.enter()
	page := w.see(c, "/console/users/9")
	wantText(t, page, "Service keys", "key029", "key005", `href="/console/users/9?keys_before=412873650192384005"`, "verify, revoke", "never", "it is revoked")
	wantNoText(t, page, "key004")
	wantText(t, w.see(c, "/console/users/9?keys_before=412873650192384005"), "key004", `href="/console/users/9"`)
	wantNoText(t, w.see(c, "/console/users/8"), "Service keys") // a user has none

	page = w.sendForm(c, "/console/users/9/keys", "name", "billing", "scope_verify", "on", "life", "90", "reason", "new")
	wantStatus(t, page, 201)
	wantText(t, page, s.last.Reveal(), "billing", "shown only now")
	if s.calls[0] != `create billing for 9, verify, 2160h0m0s, "new", by ada` {
		t.Errorf("got %s", s.calls[0])
	}
	page = w.see(c, "/console/users/9")
	wantText(t, page, "billing")
	wantNoText(t, page, s.last.Reveal())
	if strings.Contains(w.log.String(), s.last.Reveal()) {
		t.Error("the log has the key")
	}

	page = w.sendForm(c, "/console/keys/revoke", "id", "412873650192384900", "reason", "leaked")
	wantStatus(t, page, 303)
	if got := page.Header().Get("Location"); got != "/console/users/9?done=key_revoked" || s.calls[1] != "revoke 412873650192384900 leaked" {
		t.Errorf("%s, %v", got, s.calls)
	}
	wantText(t, w.see(c, "/console/users/9?done=key_revoked"), "The key is revoked.", `<span class="badge bad">revoked</span>`)
}

// What is wrong with a new key is said on the page, in both languages, and nothing is made.
func TestWhatIsWrongWithAKeyIsSaid(t *testing.T) {
	w := newWorld(t)
	s := w.giveKeys(w.populate(3), 0)
	c := w.enter()
	wantText(t, w.see(c, "/console/users/9"), "There is no key yet.", "Make a key")
	page := w.sendForm(c, "/console/users/9/keys", "name", "billing", "life", "0")
	wantStatus(t, page, 422)
	wantText(t, page, "Choose what the key may do.")
	wantStatus(t, w.sendForm(c, "/console/users/9/keys", "name", " ", "scope_verify", "on", "life", "0"), 422)
	for _, life := range []string{"", "-1", "x", "99999", "1h"} {
		wantStatus(t, w.sendForm(c, "/console/users/9/keys", "name", "billing", "scope_verify", "on", "life", life), 400)
	}
	wantStatus(t, w.sendForm(c, "/console/keys/revoke", "id", "x"), 400)
	wantStatus(t, w.sendForm(c, "/console/keys/revoke", "id", "41"), 404)
	s.err = invalid.Of("reason", account.CodeTooLong, "must have at most 1000 characters")
	page = w.sendForm(c, "/console/keys/revoke", "id", "41")
	wantStatus(t, page, 422)
	wantText(t, page, "Reason must have at most 1000 characters.")
	s.err = errors.New("database away")
	wantStatus(t, w.see(c, "/console/users/9"), 503)
	wantStatus(t, w.sendForm(c, "/console/keys/revoke", "id", "41"), 503)
	if len(s.calls) > 0 {
		t.Errorf("made %v", s.calls)
	}
}

// A key that has expired is shown as such; one of a former service can still be revoked.
func TestKeysOfAFormerServiceAreShown(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(3)
	s := w.giveKeys(crowd, 1)
	crowd.users[2].Role = account.RoleUser
	s.keys[0].ExpiresAt = w.now.Add(-time.Hour)
	page := w.see(w.enter(), "/console/users/9")
	wantText(t, page, "key000", `<span class="badge bad">expired</span>`, "/console/keys/revoke")
	wantNoText(t, page, "Make a key")
}
