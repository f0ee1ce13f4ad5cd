package render

import (
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

// ServiceKey is the key of a service, without its secret.
func ServiceKey(k *servicekey.Key) wire.ServiceKey {
	return wire.ServiceKey{
		ID: wire.ID(k.ID), UserID: wire.ID(k.UserID), Name: k.Name, Scopes: k.Scopes.Names(), CreatedAt: wire.At(k.CreatedAt()),
		Creator:   wire.Party{ID: wire.ID(k.Creator.ID), Name: k.Creator.Name},
		ExpiresAt: wire.AtOrNone(k.ExpiresAt, !k.ExpiresAt.IsZero()), RevokedAt: wire.AtOrNone(k.RevokedAt, !k.RevokedAt.IsZero()),
		UsedAt: wire.AtOrNone(k.UsedAt, !k.UsedAt.IsZero()),
	}
}
