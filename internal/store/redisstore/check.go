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

// Check asks Redis what requests ask it: to keep a value, for as short as it
// can. It returns nil, or an error that is a [fleet.Trouble] of Redis and holds the
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
	return fmt.Errorf("redisstore: redis %w: %w", Trouble(err), err)
}

// Trouble says what an error of the client means, also in one of [Check]; its text is enough
// for a person. Where the client has no type for it, the text is Redis' own, which does not change.
func Trouble(err error) fleet.Trouble {
	_, moved := redis.IsMovedError(err)
	var refusal redis.Error
	text := err.Error()
	switch {
	case redis.IsAuthError(err), strings.Contains(text, "AUTH <password> called without any password"):
		return fleet.RedisPassword
	case errors.Is(err, redis.Nil): // of the sentinels; SET has no such answer
		return fleet.RedisUnknownMaster
	case moved:
		return fleet.RedisIsCluster
	case strings.Contains(text, "cluster support disabled"):
		return fleet.RedisNoCluster
	case redis.IsPermissionError(err):
		return fleet.RedisPermission
	case redis.IsReadOnlyError(err):
		return fleet.RedisReadOnly
	case strings.Contains(text, "unknown command"):
		return fleet.RedisKeepsNoKeys
	case errors.As(err, &refusal):
		return fleet.RedisRefuses
	}
	return fleet.RedisSilent
}
