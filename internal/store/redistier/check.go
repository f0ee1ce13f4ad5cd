package redistier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// What [Check] may find. Each text goes on after "redis".
var (
	// ErrSilent means that nobody answers where Redis should be.
	ErrSilent = errors.New("does not answer")
	// ErrPassword means that Redis, or its sentinels, wants another user or
	// password, or one at all.
	ErrPassword = errors.New("refuses the user or password")
	// ErrPermission means that the user may not do what flakepass needs.
	ErrPermission = errors.New("does not permit the user to read and write keys of the form fp:*")
	// ErrMaster means that the sentinels do not know the master's name.
	ErrMaster = errors.New("has sentinels that know no master of that name")
	// ErrNoCluster means that a server that should be part of a cluster is not.
	ErrNoCluster = errors.New("is not a cluster; begin the URL with redis://")
	// ErrCluster means that a server that should stand alone is part of a cluster.
	ErrCluster = errors.New("is a cluster; begin the URL with redis+cluster://")
	// ErrNoStore means that a server answers that keeps no keys, such as a
	// sentinel.
	ErrNoStore = errors.New("is a server that keeps no keys; to reach Redis over sentinels begin the URL with redis+sentinel://")
	// ErrReadOnly means that the server is a replica.
	ErrReadOnly = errors.New("is a replica, which takes no writes; name its master, or its sentinels")
	// ErrRefused means that Redis answers, and refuses for another reason.
	ErrRefused = errors.New("refuses what it is asked")
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
	return fmt.Errorf("redistier: redis %w: %w", kindOf(err), err)
}

// Trouble is the one of those above that an error of [Check] is, whose text is
// enough for a person. It is nil for nil.
func Trouble(err error) error {
	if err == nil {
		return nil
	}
	return kindOf(err)
}

// kindOf says what an error of the client means. Where the client has no type
// for it, the text is Redis' own, which does not change.
func kindOf(err error) error {
	_, moved := redis.IsMovedError(err)
	var told redis.Error
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
	case errors.As(err, &told):
		return ErrRefused
	}
	return ErrSilent
}
