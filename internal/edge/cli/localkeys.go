package cli

import (
	"context"
	"iter"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// CreateServiceKey makes a key.
func (l *local) CreateServiceKey(ctx context.Context, user wire.ID, k client.NewServiceKey) (client.MadeServiceKey, error) {
	made, err := l.operators.Users.CreateKey(ctx, commandActor(), idworker.ID(user), operator.NewKey(k))
	return client.MadeServiceKey{Key: made.Secret, ServiceKey: render.ServiceKey(&made.Key)}, err
}

// ServiceKeys are the keys of an account, the newest first.
func (l *local) ServiceKeys(ctx context.Context, user wire.ID) iter.Seq2[wire.ServiceKey, error] {
	return paged(func(before idworker.ID, limit int) ([]servicekey.Key, error) {
		return l.operators.Users.ListKeys(ctx, idworker.ID(user), before, limit)
	}, func(k *servicekey.Key) idworker.ID { return k.ID }, render.ServiceKey)
}

// RevokeServiceKey ends a key.
func (l *local) RevokeServiceKey(ctx context.Context, id wire.ID, reason string) (time.Duration, error) {
	_, err := l.operators.Users.RevokeKey(ctx, commandActor(), idworker.ID(id), reason)
	return l.cfg.RevocationBound, err
}
