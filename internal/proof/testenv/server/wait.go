//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// pollEvery is how often Wait asks. Redis is up in some 20 ms.
const pollEvery = 5 * time.Millisecond

// Wait asks ready until it returns nil. It gives up when ctx ends, and at once
// when the child ends; the error then carries ready's last word and the end of
// the child's log.
func (p *Process) Wait(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if !p.Running() {
			return fmt.Errorf("server: %s ended before it was ready: %w\n%s", p.Path, err, p.LogTail())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("server: %s: %w\n%s", p.Path, errors.Join(ctx.Err(), err), p.LogTail())
		case <-tick.C:
		}
	}
}

// LogTail returns the last 4 KiB that the program printed.
func (p *Process) LogTail() string {
	const most = 4 << 10
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
