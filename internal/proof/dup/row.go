//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/proof/dup/ledger"
)

const (
	processes = 4

	// firstTwice is a goal that is always reached: a lender without a fence is
	// given up as soon as it has shown what it does.
	firstTwice = 1
)

// A row is one lender that was tried, and the outcome.
type row struct {
	kind   kind
	store  order // how to reach the lender
	era    era
	ids    *ledger.Ledger
	began  time.Time
	took   time.Duration
	result ledger.Result

	lives, kills, stops, steps, restarts, refused, storeless atomic.Int64

	over context.CancelCauseFunc
	mu   sync.Mutex
	err  error // what went wrong with the test itself
}

// Reasons to end a row.
var (
	errTime = errors.New("the time is over")
	errGoal = errors.New("enough was minted")
)

// try runs one lender until it has minted goal IDs, if goal is
// not 0, or for limit.
func (k kind) try(ctx context.Context, parent string, goal uint64, limit time.Duration) (r *row, err error) {
	dir := filepath.Join(parent, k.name)
	for _, sub := range []string{"store", "server", "journal"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r = &row{kind: k, began: time.Now(), ids: &ledger.Ledger{Layout: idworker.Default(), Dir: dir}}

	s, address, err := k.serve(ctx, filepath.Join(dir, "server"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	where, err := k.make(ctx, address, filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	r.store = order{Kind: k.name, Address: where}
	r.era.within = k.within
	r.began = time.Now()

	ctx, cancelTime := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancelTime()
	ctx, r.over = context.WithCancelCause(ctx)
	defer r.over(nil)
	var wg sync.WaitGroup
	if s != nil {
		wg.Go(func() { r.fail(r.disturb(ctx, s)) })
	}
	for i := range processes {
		wg.Go(func() { r.fail(r.process(ctx, i, dir, goal)) })
	}
	wg.Wait()
	if r.err != nil {
		return nil, r.err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errTime) && !errors.Is(cause, errGoal) {
		return nil, cause
	}
	r.took = time.Since(r.began)
	r.result, err = r.ids.Twice()
	return r, err
}

// fail ends the row if something went wrong.
func (r *row) fail(err error) {
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = errors.Join(r.err, err)
		r.over(err)
	}
}

func columns() []string {
	return []string{"lender", "processes", "lives", "kill -9", "SIGSTOP", "clock steps", "clock refused", "store refused", "server restarts", "IDs", "twice", "time"}
}

func (r *row) cells() []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{
		r.kind.name, strconv.Itoa(processes), n(r.lives.Load()), n(r.kills.Load()), n(r.stops.Load()), n(r.steps.Load()),
		n(r.refused.Load()), n(r.storeless.Load()), n(r.restarts.Load()),
		strconv.FormatUint(r.result.IDs, 10), strconv.FormatUint(r.result.Twice, 10), r.took.Round(100 * time.Millisecond).String(),
	}
}

// verdict is an error if the row is not what its lender promises, or if nothing
// was tested.
func (r *row) verdict() error {
	switch {
	case r.kind.fenced && r.result.Twice > 0:
		return fmt.Errorf("%s: %d IDs were minted twice, such as %v", r.kind.name, r.result.Twice, r.result.Examples)
	case !r.kind.fenced && r.result.Twice == 0:
		return fmt.Errorf("%s: nothing was minted twice without a fence: this tests nothing", r.kind.name)
	case r.kind.fenced && (r.result.IDs < 1000 || r.kills.Load() == 0):
		return fmt.Errorf("%s: %d IDs and %d kills: nothing was tested", r.kind.name, r.result.IDs, r.kills.Load())
	}
	return nil
}
