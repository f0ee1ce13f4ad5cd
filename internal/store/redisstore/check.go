package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/fleet"
)

// What [Check] may find. Each text goes on after "redis".
const (
	// ErrSilent means that nothing answers where Redis should be.
	ErrSilent = fleet.RedisSilent
	// ErrPassword means that Redis, or its sentinels, wants another user or
	// password, or one at all.
	ErrPassword = fleet.RedisPassword
	// ErrPermission means that the user may not do what flakepass needs.
	ErrPermission = fleet.RedisPermission
	// ErrMaster means that the sentinels do not know the master's name.
	ErrMaster = fleet.RedisUnknownMaster
	// ErrNoCluster means that a server that should be part of a cluster is not.
	ErrNoCluster = fleet.RedisNoCluster
	// ErrCluster means that a server that should stand alone is part of a cluster.
	ErrCluster = fleet.RedisIsCluster
	// ErrNoStore means that a server answers that keeps no keys, such as a
	// sentinel.
	ErrNoStore = fleet.RedisKeepsNoKeys
	// ErrReadOnly means that the server is a replica.
	ErrReadOnly = fleet.RedisReadOnly
	// ErrRefused means that Redis answers, and refuses for another reason.
	ErrRefused = fleet.RedisRefuses
)

// Check asks Redis what requests ask it: to keep a value, for as short as it
// can. It returns nil, or an error that is one of those above and holds the
// client's; neither holds a secret. It returns when ctx ends, whatever the
// client does.
func Check(ctx context.Context, rdb redis.UniversalClient) error {
	answer := make(chan error, 1)
	go func() { answer <- rdb.Set(ctx, "fp:check", "", time.Millisecond).Err() }()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisstore: redis %w: %w", kindOf(err), err)
}

// Trouble is the one of those above that an error of [Check] is, whose text is
// enough for a person.
func Trouble(err error) fleet.Trouble { return kindOf(err) }

// kindOf says what an error of the client means. Where the client has no type
// for it, the text is Redis' own, which does not change.
func kindOf(err error) fleet.Trouble {
	_, moved := redis.IsMovedError(err)
	var refusal redis.Error
	text := err.Error()
	switch {
	case redis.IsAuthError(err), strings.Contains(text, "AUTH <password> called without any password"):
		return ErrPassword
	case errors.Is(err, redis.Nil): // of the sentinels; SET has no such answer
		return ErrMaster
	case moved:
		return ErrCluster
	case strings.Contains(text, "cluster support disabled"):
		return ErrNoCluster
	case redis.IsPermissionError(err):
		return ErrPermission
	case redis.IsReadOnlyError(err):
		return ErrReadOnly
	case strings.Contains(text, "unknown command"):
		return ErrNoStore
	case errors.As(err, &refusal):
		return ErrRefused
	}
	return ErrSilent
}
