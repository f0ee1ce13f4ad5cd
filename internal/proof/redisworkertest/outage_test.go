//go:build unix

package redisworkertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func TestRedisThatIsDownIsAnError(t *testing.T) {
	r := testenv.Redis(t)
	l := settled(t, single(t, r))
	g := acquire(t, l, time.Second)
	unavailable := func(ctx context.Context, how string) {
		t.Helper()
		_, acquiring := l.Acquire(ctx, time.Second)
		_, extending := l.Extend(ctx, g, g.Until)
		for _, err := range []error{acquiring, extending, l.Release(ctx, g, g.Until)} {
			if !errors.Is(err, redisworker.ErrUnavailable) || errors.Is(err, idworker.ErrLost) {
				t.Errorf("%s: %v, want ErrUnavailable", how, err)
			}
		}
	}
	r.Pause()
	// The client alone would wait for an hour.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	unavailable(ctx, "paused")
	r.Resume()
	r.Kill()
	unavailable(t.Context(), "killed")
}

// TestReplicaDecidesNothing: what a replica does not know may be true.
func TestReplicaDecidesNothing(t *testing.T) {
	r := testenv.Redis(t)
	l := settled(t, single(t, r))
	g := acquire(t, l, time.Second)
	behind, replica := *l, follower(t, r)
	behind.Client = single(t, replica)
	replica.Command("CONFIG SET replica-read-only no")
	if got, err := behind.Extend(t.Context(), g, g.Until); !errors.Is(err, redisworker.ErrUnavailable) {
		t.Errorf("extend: %+v, %v, want ErrUnavailable", got, err)
	}
	g.Token = "OTHER"
	if got, err := behind.Extend(t.Context(), g, g.Until); !errors.Is(err, redisworker.ErrUnavailable) {
		t.Errorf("extend with another token: %+v, %v, want ErrUnavailable", got, err)
	}
}

func TestForgottenScriptsAreSentAgain(t *testing.T) {
	r := testenv.Redis(t)
	l := settled(t, single(t, r))
	g := acquire(t, l, time.Second)
	r.Command("SCRIPT FLUSH")
	if _, err := l.Extend(t.Context(), g, g.Until.Add(time.Second)); err != nil {
		t.Error(err)
	}
}

func TestChangeCountsWhenReplicasHaveIt(t *testing.T) {
	r := testenv.Redis(t)
	copies := follower(t, r)
	l := settled(t, single(t, r), func(l *redisworker.Lender) { l.Replicas = 1 })
	var g idworker.Grant
	// On a crowded machine the replica may take longer than it is given.
	testenv.Eventually(t, time.Minute, func() (ok bool) {
		var err error
		if g, err = l.Acquire(t.Context(), time.Second); err == nil {
			g, err = l.Extend(t.Context(), g, g.Until.Add(time.Second))
		}
		if err != nil && !errors.Is(err, redisworker.ErrReplicas) {
			t.Fatal(err)
		}
		return err == nil
	}, "the replica confirms")
	copies.Pause()
	// Also what changes nothing has to be confirmed: an earlier change may not be.
	if longer, err := l.Extend(t.Context(), g, g.Until); !errors.Is(err, redisworker.ErrReplicas) {
		t.Errorf("extend: %+v, %v, want ErrReplicas", longer, err)
	}
	if got, err := l.Acquire(t.Context(), time.Second); !errors.Is(err, redisworker.ErrReplicas) {
		t.Errorf("acquire: %+v, %v, want ErrReplicas", got, err)
	}
	if err := l.Release(t.Context(), g, g.Until); !errors.Is(err, redisworker.ErrReplicas) {
		t.Errorf("release: %v, want ErrReplicas", err)
	}
}
