package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// keyStore keeps the keys of a desk; fails, if set, is the error of each change.
type keyStore struct {
	*desk
	keys  map[idworker.ID]servicekey.Held
	fails error
}

func newKeys(t *testing.T) *keyStore {
	k := &keyStore{desk: newDesk(t), keys: map[idworker.ID]servicekey.Held{}}
	k.users.Keys = k
	return k
}

func (k *keyStore) CreateKey(_ context.Context, key servicekey.Key, hash session.Hash, e audit.Event) error {
	if k.fails != nil {
		return fmt.Errorf("store: %w", k.fails)
	}
	k.keys[key.ID] = servicekey.Held{Key: key, Hash: hash, Username: "billing"}
	k.events = append(k.events, e)
	return nil
}

func (k *keyStore) KeysOf(context.Context, idworker.ID, idworker.ID, int) (all []servicekey.Key, err error) {
	for _, held := range k.keys {
		all = append(all, held.Key)
	}
	return all, nil
}

func (k *keyStore) Find(_ context.Context, id idworker.ID) (servicekey.Held, error) {
	held, ok := k.keys[id]
	if !ok {
		return held, servicekey.ErrNotFound
	}
	return held, nil
}

func (k *keyStore) RevokeKey(_ context.Context, id idworker.ID, e audit.Event) error {
	held := k.keys[id]
	held.RevokedAt = now
	k.keys[id], k.events = held, append(k.events, e)
	return k.fails
}

// TestKeyIsShownToItsMakerAlone: what is kept is a hash, and the record says what it is for.
func TestKeyIsShownToItsMakerAlone(t *testing.T) {
	k := newKeys(t)
	user := k.add("billing", account.RoleService)
	made, err := k.users.CreateKey(t.Context(), by, user, operator.NewKey{Name: "billing in production", Scopes: []string{"verify"}, ExpiresAt: now.Add(time.Hour), Reason: "new"})
	if err != nil {
		t.Fatal(err)
	}
	held := k.keys[made.ID]
	hash := servicekey.HashOf(made.Secret)
	if idworker.ID(made.Secret.ID()) != made.ID || !held.Hash.Equal(&hash) || held.UserID != user || held.Scopes.Text() != "verify" || held.Creator.ID != by.ID || !held.ExpiresAt.Equal(now.Add(time.Hour)) {
		t.Errorf("kept %+v of %+v", held, made.Key)
	}
	e := k.events[0]
	if e.Action != audit.KeyCreated || e.Target.ID != user || e.Reason != "new" || e.Need != audit.NeedsProof {
		t.Errorf("event %+v", e)
	}
	if text, _ := json.Marshal([]any{k.events, made.Key}); strings.Contains(string(text), made.Secret.Reveal()) || !strings.Contains(string(e.New), made.ID.String()) {
		t.Errorf("recorded %s", text)
	}
	var told []idworker.ID
	k.users.Revoked = func(id idworker.ID) { told = append(told, id) }
	for range 2 { // the second changes nothing, and needs the right
		if _, err := k.users.RevokeKey(t.Context(), by, made.ID, "leaked"); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.events) != 2 || k.events[1].Action != audit.KeyRevoked || k.events[1].Need != audit.NeedsAdmin || k.events[1].Target.ID != user || len(told) != 1 || told[0] != made.ID {
		t.Errorf("events %+v, told %v", k.events, told)
	}
	if len(k.needed) != 1 || k.needed[0] != audit.NeedsAdmin {
		t.Errorf("rights checked for the second: %v", k.needed)
	}
}

// TestKeyIsRefusedBeforeItIsMade: with the field that is wrong.
func TestKeyIsRefusedBeforeItIsMade(t *testing.T) {
	good := operator.NewKey{Name: "billing", Scopes: []string{"verify"}}
	for name, c := range map[string]struct {
		edit  func(*operator.NewKey)
		fails error
		field string
	}{
		"no scope":         {func(n *operator.NewKey) { n.Scopes = nil }, nil, "scopes"},
		"an unknown scope": {func(n *operator.NewKey) { n.Scopes = []string{"verify", "admin"} }, nil, "scopes"},
		"no name":          {func(n *operator.NewKey) { n.Name = "" }, nil, "name"},
		"an expiry of now": {func(n *operator.NewKey) { n.ExpiresAt = now }, nil, "expires_at"},
		"the year 1":       {func(n *operator.NewKey) { n.ExpiresAt = time.Time{}.Add(time.Millisecond) }, nil, "expires_at"},
		"a long reason":    {func(n *operator.NewKey) { n.Reason = strings.Repeat("x", 1001) }, nil, "reason"},
		"a user":           {func(*operator.NewKey) {}, servicekey.ErrRole, "role"},
		"one key too many": {func(*operator.NewKey) {}, servicekey.ErrMany, "name"},
	} {
		k := newKeys(t)
		user := k.add("billing", account.RoleService)
		n := good
		c.edit(&n)
		k.fails = c.fails
		_, err := k.users.CreateKey(t.Context(), by, user, n)
		if got, _ := field(t, err); got != c.field {
			t.Errorf("%s: field %q, want %q", name, got, c.field)
		}
	}
	k := newKeys(t)
	if _, err := k.users.CreateKey(t.Context(), by, 12345, good); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("for nobody: %v", err)
	}
	if _, err := k.users.ListKeys(t.Context(), 12345, 0, 10); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("of nobody: %v", err)
	}
	if _, err := k.users.RevokeKey(t.Context(), by, 12345, ""); !errors.Is(err, servicekey.ErrNotFound) {
		t.Errorf("no key: %v", err)
	}
}
