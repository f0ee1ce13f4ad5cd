package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

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
