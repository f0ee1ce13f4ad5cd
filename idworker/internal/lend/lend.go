// Package lend is what the lenders of worker numbers have in common.
package lend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Numbers is how many there are, by the field Numbers of a Lender: 0 means as many as 10 bits of
// worker can number.
func Numbers(field int) (int, error) {
	switch {
	case field < 0:
		return 0, fmt.Errorf("Numbers is %d; set at least 1, or leave it out", field)
	case field == 0:
		return 1024, nil
	default:
		return field, nil
	}
}

// Now is the time by the field Now of a Lender, in Unix milliseconds; nil is time.Now.
func Now(field func() time.Time) int64 {
	if field == nil {
		field = time.Now
	}
	return field().UnixMilli()
}

// CeilMilli rounds up: what is used may not be handed back.
func CeilMilli(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// Holder is the field Holder of a Lender as far as it is kept: 255 characters.
func Holder(field string) string {
	r := []rune(field)
	return string(r[:min(len(r), 255)])
}

// Backoff sleeps before a round of a race, for a random time of up to 2^round milliseconds, and
// 64 at most.
func Backoff(ctx context.Context, round int) error {
	if round == 0 {
		return nil
	}
	return Pause(ctx, time.Millisecond<<min(round, 6))
}

// Pause sleeps for a random time below most.
func Pause(ctx context.Context, most time.Duration) error {
	t := time.NewTimer(rand.N(most)) //nolint:gosec // jitter is no secret
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
