package main

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/gormstore"
)

// An operatorDesk is what an operator can do to users and logins, through any
// door.
type operatorDesk struct {
	users    *admin.Users
	sessions *admin.Sessions
	stats    *admin.Stats
}

// newOperatorDesk makes one over the database. told is told of what ends; clock is
// that of the database, by which logins end.
func newOperatorDesk(db *gormstore.DB, told admin.Hearer, rule *policy.Live, hasher *account.Hasher, ids audit.IDs,
	raised func(context.Context), clock func() time.Time) *operatorDesk {
	users, settings := &gormstore.Users{DB: db}, &gormstore.Settings{DB: db}
	sessions := &admin.Sessions{
		Logins: &gormstore.Sessions{DB: db}, Floor: settings, Counted: settings.CountLogins,
		Store: told, Rights: users, Policy: rule, IDs: ids, Now: time.Now, Clock: clock, Raised: raised,
	}
	return &operatorDesk{
		users: &admin.Users{
			Accounts: users, Register: users, Resets: users, Open: users, Known: users, Hasher: hasher, Factors: &gormstore.SecondFactors{DB: db}, Sessions: sessions, IDs: ids, Now: time.Now,
		},
		sessions: sessions,
		stats:    &admin.Stats{Counter: settings, Policy: rule, Now: clock},
	}
}

// people are the verbs as the API has them.
func (d *operatorDesk) people() httpapi.People {
	return httpapi.People{Users: d.users, Logout: d.users, Resets: d.users, Open: d.users, Sessions: d.sessions, Stats: d.stats, Factors: d.users}
}

// heardOf returns what makes this instance read the ends of logins, and waits
// until it has, or for a second: whoever ended all logins is not told so before
// this instance refuses them.
func heardOf(f *feed.Feed) func(context.Context) {
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		asked := time.Now()
		f.Soon()
		for !f.Horizon().After(asked) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}
}
