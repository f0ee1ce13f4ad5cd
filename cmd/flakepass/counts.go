package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/activity"
	"github.com/flakepass/flakepass/internal/adminui"
	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/login"
	"github.com/flakepass/flakepass/internal/session"
)

// counts is what this instance counts for the console: logins by the hour, and
// its own last sweeps.
type counts struct {
	activity.Counter
	mu   sync.Mutex
	last []adminui.Sweep // newest first
}

func newCounts(db *gormstore.DB, ids *idworker.Worker, log *slog.Logger) *counts {
	return &counts{Counter: activity.Counter{
		Store: &gormstore.Activity{DB: db}, Instance: strconv.Itoa(ids.Number()), Now: time.Now, Log: log,
	}}
}

// logins counts those that begin and those that are refused.
func (c *counts) logins(s *login.Service) countedLogins { return countedLogins{s, c} }

type countedLogins struct {
	*login.Service
	counts *counts
}

func (l countedLogins) Login(ctx context.Context, username string, p account.Password) (session.Opened, error) {
	opened, err := l.Service.Login(ctx, username, p)
	l.count(err)
	return opened, err
}

func (l countedLogins) LoginAs(ctx context.Context, role account.Role, username string, p account.Password) (session.Opened, error) {
	opened, err := l.Service.LoginAs(ctx, role, username, p)
	l.count(err)
	return opened, err
}

func (l countedLogins) count(err error) {
	switch {
	case err == nil:
		l.counts.Add(activity.Login, 1)
	case errors.Is(err, account.ErrWrong), errors.Is(err, account.ErrDisabled), errors.Is(err, login.ErrRole):
		l.counts.Add(activity.Refused, 1)
	}
}

// sessions counts the logouts that ended a login.
func (c *counts) sessions(s *session.Service) countedSessions { return countedSessions{s, c} }

type countedSessions struct {
	*session.Service
	counts *counts
}

func (s countedSessions) Close(ctx context.Context, t flakepass.Token) (session.Session, error) {
	ended, err := s.Service.Close(ctx, t)
	if (err == nil || errors.Is(err, session.ErrUntold)) && ended.ID != 0 && !ended.Before {
		s.counts.Add(activity.Logout, 1)
	}
	return ended, err
}

// swept counts what a pass cleared, and remembers the last passes, before it
// tells next.
func (c *counts) swept(next func(int, time.Duration, error)) func(int, time.Duration, error) {
	const most = 5
	return func(cleared int, took time.Duration, err error) {
		c.Add(activity.Expired, cleared)
		pass := adminui.Sweep{Started: time.Now().Add(-took), Took: took.Round(time.Millisecond), Outcome: "done", Cleared: int64(cleared)}
		if err != nil {
			pass.Outcome = "stopped early"
		}
		c.mu.Lock()
		c.last = append([]adminui.Sweep{pass}, c.last[:min(len(c.last), most-1)]...)
		c.mu.Unlock()
		next(cleared, took, err)
	}
}

func (c *counts) sweeps() []adminui.Sweep {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.last)
}
