//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// keyWorld is a database with a service that has a key.
type keyWorld struct {
	*world
	keys *sqlstore.ServiceKeys
	user idworker.ID
}

func (w *world) service(t testing.TB, name string) keyWorld {
	t.Helper()
	user := w.user(t, name)
	w.run(t, "UPDATE users SET role = 'service' WHERE id = ?", int64(user))
	return keyWorld{w, &sqlstore.ServiceKeys{DB: w.DB}, user}
}

// key makes a key of the service, by the shell.
func (w keyWorld) key(t testing.TB, scopes ...servicekey.Scope) servicekey.Key {
	t.Helper()
	k, _, err := w.tryKey(t.Context(), w.user, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w keyWorld) tryKey(ctx context.Context, user idworker.ID, scopes ...servicekey.Scope) (servicekey.Key, session.Hash, error) {
	id := w.ids.next(0)
	k := servicekey.Key{ID: id, UserID: user, Name: "billing", Scopes: scopes}
	hash := servicekey.HashOf(flakepass.NewServiceKey(flakepass.ID(id)))
	e := audit.Event{ID: w.ids.next(0), By: shell, Need: audit.NeedsProof, Action: audit.KeyCreated, Target: audit.AboutUser(user, "billing")}
	return k, hash, w.keys.CreateKey(ctx, k, hash, e)
}

func (w keyWorld) revoke(ctx context.Context, id idworker.ID) error {
	return w.keys.RevokeKey(ctx, id, audit.Event{ID: w.ids.next(0), By: shell, Need: audit.NeedsAdmin, Action: audit.KeyRevoked, Target: audit.AboutUser(w.user, "billing")})
}

func (w keyWorld) events(t testing.TB, action audit.Action) int {
	t.Helper()
	list, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Action: action, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestKeyIsKeptAsItWasMade: and what is not known stays zero.
func TestKeyIsKeptAsItWasMade(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		maker := w.admin(t, "ada")
		id, until := w.ids.next(0), time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
		text := flakepass.NewServiceKey(flakepass.ID(id))
		made := servicekey.Key{ID: id, UserID: w.user, Name: "计费 in production", Scopes: servicekey.Known(), ExpiresAt: until, Creator: servicekey.Creator{ID: maker}}
		e := audit.Event{ID: w.ids.next(0), By: shell, Action: audit.KeyCreated, Target: audit.AboutUser(w.user, "billing")}
		if err := w.keys.CreateKey(t.Context(), made, servicekey.HashOf(text), e); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		got, err := w.keys.Find(t.Context(), id)
		hash := servicekey.HashOf(text)
		if err != nil || !got.Hash.Equal(&hash) || got.Username != "billing" || got.Role != "service" || got.Disabled || got.AsOf.Before(before) {
			t.Fatalf("%+v, %v", got, err)
		}
		if got.UserID != w.user || got.Name != made.Name || got.Scopes.Text() != servicekey.Known().Text() || !got.ExpiresAt.Equal(until) || !got.RevokedAt.IsZero() || !got.UsedAt.IsZero() || got.Creator.ID != maker {
			t.Errorf("got %+v, want %+v", got.Key, made)
		}
		hour := time.Now().Truncate(time.Hour)
		for _, used := range []time.Time{hour, hour.Add(-time.Hour)} { // an earlier one is late
			if err := w.keys.Used(t.Context(), id, used); err != nil {
				t.Fatal(err)
			}
		}
		if got, err = w.keys.Find(t.Context(), id); err != nil || !got.UsedAt.Equal(hour) {
			t.Errorf("used %v, %v; want %v", got.UsedAt, err, hour)
		}
		if _, err := w.keys.Find(t.Context(), id+1); !errors.Is(err, servicekey.ErrNotFound) {
			t.Errorf("another ID: %v", err)
		}
		older := w.key(t, servicekey.Verify)
		page, err := w.keys.KeysOf(t.Context(), w.user, 0, 1)
		if err != nil || len(page) != 1 || page[0].ID != older.ID || page[0].Creator != (servicekey.Creator{}) {
			t.Errorf("the newest: %+v, %v", page, err)
		}
		if page, err = w.keys.KeysOf(t.Context(), w.user, older.ID, 9); err != nil || len(page) != 1 || page[0].ID != id || page[0].Creator.Name != "ada" {
			t.Errorf("the next page: %+v, %v", page, err)
		}
	})
}

// TestKeysAreForServices: and at most so many, also of those that ask at once.
func TestKeysAreForServices(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		for _, user := range []idworker.ID{w.world.user(t, "alice"), w.admin(t, "ada")} {
			if _, _, err := w.tryKey(t.Context(), user, servicekey.Verify); !errors.Is(err, servicekey.ErrRole) {
				t.Errorf("for another role: %v", err)
			}
		}
		if _, _, err := w.tryKey(t.Context(), 12345, servicekey.Verify); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("for nobody: %v", err)
		}
		for range servicekey.MostKeys - 2 {
			w.key(t, servicekey.Verify)
		}
		var made, many int
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				_, _, err := w.tryKey(context.WithoutCancel(t.Context()), w.user, servicekey.Verify)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case errors.Is(err, servicekey.ErrMany):
					many++
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made != 2 || many != 4 {
			t.Errorf("%d made and %d refused, want 2 and 4", made, many)
		}
		if n := w.events(t, audit.KeyCreated); n != servicekey.MostKeys {
			t.Errorf("%d events, want %d", n, servicekey.MostKeys)
		}
		page, err := w.keys.KeysOf(t.Context(), w.user, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.revoke(t.Context(), page[0].ID); err != nil {
			t.Fatal(err)
		}
		w.key(t, servicekey.Verify) // in the place of the one that was revoked
	})
}

// TestKeyEndsWithItsRow: what is revoked, disabled or demoted is so at the next read and
// in the next transaction; "log everybody out" ends no key.
func TestKeyEndsWithItsRow(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		ways := map[string]struct {
			end  func(keyWorld, idworker.ID) error
			want error
		}{
			"nothing": {func(keyWorld, idworker.ID) error { return nil }, nil},
			"everybody logged out": {func(w keyWorld, _ idworker.ID) error {
				_, err := w.settings().EndAll(t.Context(), time.Now().Add(time.Hour))
				return err
			}, nil},
			"revoked": {func(w keyWorld, id idworker.ID) error { return w.revoke(t.Context(), id) }, flakepass.ErrKeyRevoked},
			"revoked twice": {func(w keyWorld, id idworker.ID) error {
				return errors.Join(w.revoke(t.Context(), id), w.revoke(t.Context(), id))
			}, flakepass.ErrKeyRevoked},
			"expired": {func(w keyWorld, id idworker.ID) error {
				w.run(t, "UPDATE service_keys SET expires_at = ? WHERE id = ?", time.Now().Add(-time.Second).UnixMilli(), int64(id))
				return nil
			}, flakepass.ErrKeyExpired},
			"disabled": {func(w keyWorld, _ idworker.ID) error {
				_, err := w.users.Disable(t.Context(), w.user, start)
				return err
			}, flakepass.ErrAccountDisabled},
			"demoted": {func(w keyWorld, _ idworker.ID) error {
				_, _, _, err := w.users.Change(t.Context(), w.user, w.become(account.RoleUser))
				return err
			}, servicekey.ErrRole},
			"promoted": {func(w keyWorld, _ idworker.ID) error {
				_, _, _, err := w.users.Change(t.Context(), w.user, w.become(account.RoleAdmin))
				return err
			}, servicekey.ErrRole},
		}
		world.admin(t, "ada") // who stays
		for name, way := range ways {
			w := world.service(t, fmt.Sprint("s", world.ids.next(0)))
			k := w.key(t, servicekey.Verify, servicekey.Revoke)
			by := audit.Actor{ID: w.user, Key: k.ID, Name: "billing", Via: audit.ViaAPI}
			if err := w.makes(t, by, audit.NeedsService); err != nil {
				t.Fatalf("%s: before: %v", name, err)
			}
			if err := way.end(w, k.ID); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			held, err := w.keys.Find(t.Context(), k.ID)
			if err != nil {
				t.Fatal(err)
			}
			if err := held.May(time.Now(), servicekey.Verify); !errors.Is(err, way.want) {
				t.Errorf("%s: the row says %v, want %v", name, err, way.want)
			}
			if err := w.makes(t, by, audit.NeedsService); !errors.Is(err, way.want) {
				t.Errorf("%s: changes by the key: %v, want %v", name, err, way.want)
			}
		}
		if w := (keyWorld{world: world}); w.events(t, audit.KeyRevoked) != 2 {
			t.Errorf("%d events of two revocations", w.events(t, audit.KeyRevoked))
		}
	})
}

// TestKeyHasNoOtherRight: a key is good for what needs a service, with the scope revoke,
// and for its own account.
func TestKeyHasNoOtherRight(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k := w.key(t, servicekey.Verify, servicekey.Revoke)
		by := audit.Actor{ID: w.user, Key: k.ID, Via: audit.ViaAPI}
		for _, need := range []audit.Need{0, audit.NeedsLogin, audit.NeedsOwnProof, audit.NeedsAdmin, audit.NeedsProof} {
			if err := w.makes(t, by, need); err == nil {
				t.Errorf("a key does what needs %d", need)
			}
		}
		verifies := by
		verifies.Key = w.key(t, servicekey.Verify).ID
		if err := w.makes(t, verifies, audit.NeedsService); !errors.As(err, new(*servicekey.ScopeError)) {
			t.Errorf("without the scope: %v", err)
		}
		foreign := by
		foreign.ID = world.service(t, "orders").user
		unknown := by
		unknown.Key++
		for what, by := range map[string]audit.Actor{"of another account": foreign, "unknown": unknown, "of nobody": {Key: k.ID, Via: audit.ViaAPI}} {
			if err := w.makes(t, by, audit.NeedsService); err == nil {
				t.Errorf("a key %s has made something", what)
			}
		}
		// A token is revoked by it, with an event of the service.
		alice := w.begin(t, w.world.user(t, "alice"))
		ending := logout(alice)
		ending.Reason, ending.Record = session.Revoked, &session.Record{ID: w.ids.next(0), By: by, Need: audit.NeedsService}
		if ended, err := w.sessions.End(t.Context(), ending); err != nil || ended.Ended != session.Revoked {
			t.Errorf("%+v, %v", ended, err)
		}
	})
}
