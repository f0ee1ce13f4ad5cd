package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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
	case strings.Contains(text, "unknown command 'sentinel'"):
		return fleet.RedisNoSentinel
	case strings.Contains(text, "unknown command"):
		return fleet.RedisKeepsNoKeys
	case errors.As(err, &refusal):
		return fleet.RedisRefuses
	}
	return fleet.RedisSilent
}

// NoEviction is the policy of a Redis that removes no key before its time.
const NoEviction = "noeviction"

var errNoPolicy = errors.New("INFO memory has no maxmemory_policy")

// Eviction is what Redis does when its memory is full: its maxmemory-policy. Of a
// cluster it is that of a master that evicts, if one does. It asks INFO, which more
// users may than CONFIG. The error is one of those of [Check], or another if the
// server does not say.
func Eviction(ctx context.Context, rdb redis.UniversalClient) (string, error) {
	cluster, ok := rdb.(*redis.ClusterClient)
	if !ok {
		return policyOf(ctx, rdb)
	}
	var mu sync.Mutex
	found := NoEviction
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		policy, err := policyOf(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && policy != NoEviction {
			found = policy
		}
		return err
	})
	return found, err
}

func policyOf(ctx context.Context, rdb redis.Cmdable) (string, error) {
	text, err := rdb.Info(ctx, "memory").Result()
	if err != nil {
		return "", fmt.Errorf("redisstore: redis %w: %w", Trouble(err), err)
	}
	policy, ok := parsePolicy(text)
	if !ok {
		return "", fmt.Errorf("redisstore: %w", errNoPolicy)
	}
	return policy, nil
}

// parsePolicy is the policy in an answer to INFO. What is no name of one is none: it is
// shown to people.
func parsePolicy(info string) (string, bool) {
	for line := range strings.Lines(info) {
		policy, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "maxmemory_policy:")
		if ok {
			return policy, policy != "" && len(policy) <= 32 && strings.Trim(policy, "abcdefghijklmnopqrstuvwxyz-") == ""
		}
	}
	return "", false
}
