package run

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/gormstore"
)

// counts is what this instance counts for the console, by the hour.
type counts struct{ activity.Counter }

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

func (l countedLogins) Login(ctx context.Context, by account.Asker, username string, p account.Password, code secondfactor.Code) (session.Opened, error) {
	opened, err := l.Service.Login(ctx, by, username, p, code)
	l.count(err)
	return opened, err
}

func (l countedLogins) LoginAs(ctx context.Context, by account.Asker, role account.Role, username string, p account.Password, code secondfactor.Code) (session.Opened, error) {
	opened, err := l.Service.LoginAs(ctx, by, role, username, p, code)
	l.count(err)
	return opened, err
}

func (l countedLogins) FinishAs(ctx context.Context, role account.Role, ticket string, code secondfactor.Code) (session.Opened, error) {
	opened, err := l.Service.FinishAs(ctx, role, ticket, code)
	l.count(err)
	return opened, err
}

func (l countedLogins) count(err error) {
	switch {
	case err == nil:
		l.counts.Add(activity.Login, 1)
	case errors.Is(err, account.ErrWrong), errors.Is(err, account.ErrDisabled), errors.Is(err, login.ErrRole),
		errors.Is(err, account.ErrShort), errors.Is(err, secondfactor.ErrInvalid):
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

// watch counts what each pass of the sweep clears, before whoever hears of it.
func (c *counts) watch(s *sweep.Sweeper) {
	next := s.Swept
	s.Swept = func(r sweep.Report) {
		c.Add(activity.Expired, int(r.Cleared))
		if next != nil {
			next(r)
		}
	}
}
