package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A KeyStore keeps the keys of services. What changes one writes its event in the same
// transaction.
//
// CreateKey fails with [account.ErrNotFound], and with [servicekey.ErrRole] or
// [servicekey.ErrMany]. KeysOf returns at most limit keys of an account, newest first,
// older than before, or the newest if before is 0. Find fails with
// [servicekey.ErrNotFound]. RevokeKey does nothing for a key that was revoked before.
type KeyStore interface {
	CreateKey(ctx context.Context, key servicekey.Key, hash session.Hash, e audit.Event) error
	KeysOf(ctx context.Context, user, before idworker.ID, limit int) ([]servicekey.Key, error)
	Find(ctx context.Context, id idworker.ID) (servicekey.Held, error)
	RevokeKey(ctx context.Context, id idworker.ID, e audit.Event) error
}

// A NewKey says what a key is to be. ExpiresAt is zero for one that does not expire.
type NewKey struct {
	Name      string
	Scopes    []string
	ExpiresAt time.Time
	Reason    string // of the operator
}

// A MadeKey is a new key with its text, which is shown once.
type MadeKey struct {
	servicekey.Key
	Secret flakepass.ServiceKey
}

// keyState is a key as the record has it.
type keyState struct {
	ID        idworker.ID `json:"key_id"`
	Name      string      `json:"name"`
	Scopes    []string    `json:"scopes"`
	ExpiresAt wire.Time   `json:"expires_at,omitzero"`
}

func stateOf(k *servicekey.Key) keyState {
	return keyState{k.ID, k.Name, k.Scopes.Names(), wire.AtOrNone(k.ExpiresAt, !k.ExpiresAt.IsZero())}
}

// CreateKey makes a key for the account of a service. Only the caller has its text: what
// is kept is a hash. It fails with [account.ErrNotFound], and with an [*invalid.Error],
// also if the account has another role than service, or 100 keys that were not revoked.
func (u *Users) CreateKey(ctx context.Context, by audit.Actor, user idworker.ID, n NewKey) (MadeKey, error) {
	scopes, err := n.check(u.Now())
	if err != nil {
		return MadeKey{}, err
	}
	account, err := u.Known.ByID(ctx, user)
	if err != nil {
		return MadeKey{}, fmt.Errorf("operator: create service key: %w", err)
	}
	id, err := u.Making.IDs.Next(ctx)
	if err != nil {
		return MadeKey{}, fmt.Errorf("operator: create service key: %w", err)
	}
	made := MadeKey{
		Key: servicekey.Key{
			ID: id, UserID: user, Name: n.Name, Scopes: scopes, ExpiresAt: n.ExpiresAt.UTC().Truncate(time.Millisecond),
			Creator: servicekey.Creator{ID: by.ID, Name: by.Name},
		},
		Secret: flakepass.NewServiceKey(flakepass.ID(id)),
	}
	if by.ID == 0 {
		made.Creator = servicekey.Creator{}
	}
	e, err := audit.New(ctx, u.IDs, by, needs[createKey], audit.KeyCreated, userTarget(&account), n.Reason, nil, stateOf(&made.Key))
	if err == nil {
		err = u.Keys.CreateKey(ctx, made.Key, servicekey.HashOf(made.Secret), e)
	}
	switch {
	case errors.Is(err, servicekey.ErrRole):
		return MadeKey{}, invalid.Of("role", "not_service", "must be service: only such an account has keys")
	case errors.Is(err, servicekey.ErrMany):
		return MadeKey{}, invalid.Of("name", "too_many", fmt.Sprintf("is of one key too many: an account has at most %d that were not revoked", servicekey.MostKeys))
	case err != nil:
		return MadeKey{}, fmt.Errorf("operator: create service key: %w", err)
	}
	logAct(ctx, u.Sessions.Log, by, nil, "service key created", "user_id", user, "key_id", id, "scopes", scopes.Text(), "event", audit.KeyCreated)
	return made, nil
}

func (n *NewKey) check(now time.Time) (servicekey.Scopes, error) {
	scopes, err := servicekey.ParseScopes(n.Scopes)
	if err == nil {
		err = servicekey.CheckName(n.Name)
	}
	if err == nil && !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		err = invalid.Of("expires_at", "out_of_range", "must be in the future")
	}
	if err == nil {
		err = CheckReason(n.Reason)
	}
	return scopes, err
}

// ListKeys returns at most limit keys of an account, newest first, older than before, or
// the newest if before is 0, with those that are over. It fails with
// [account.ErrNotFound].
func (u *Users) ListKeys(ctx context.Context, user, before idworker.ID, limit int) ([]servicekey.Key, error) {
	if _, err := u.Known.ByID(ctx, user); err != nil {
		return nil, fmt.Errorf("operator: list service keys: %w", err)
	}
	keys, err := u.Keys.KeysOf(ctx, user, before, limit)
	if err != nil {
		return nil, fmt.Errorf("operator: list service keys: %w", err)
	}
	return keys, nil
}

// RevokeKey ends a key for good: here at once, and on every other instance within the
// bound. It returns the key as it was. A key that was revoked before stays so, and nothing
// is recorded. It fails with [servicekey.ErrNotFound], and an [*invalid.Error] about
// the reason.
func (u *Users) RevokeKey(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (servicekey.Key, error) {
	if err := CheckReason(reason); err != nil {
		return servicekey.Key{}, err
	}
	k, err := u.Keys.Find(ctx, id)
	if err != nil {
		return servicekey.Key{}, fmt.Errorf("operator: revoke service key: %w", err)
	}
	if !k.RevokedAt.IsZero() {
		return k.Key, u.Sessions.unchanged(ctx, by, needs[revokeKey])
	}
	e, err := audit.New(ctx, u.IDs, by, needs[revokeKey], audit.KeyRevoked, audit.AboutUser(k.UserID, k.Username), reason, stateOf(&k.Key), nil)
	if err == nil {
		err = u.Keys.RevokeKey(ctx, id, e)
	}
	if err != nil {
		return servicekey.Key{}, fmt.Errorf("operator: revoke service key: %w", err)
	}
	if u.Revoked != nil {
		u.Revoked(id)
	}
	logAct(ctx, u.Sessions.Log, by, nil, "service key revoked", "user_id", k.UserID, "key_id", id, "event", audit.KeyRevoked)
	return k.Key, nil
}
