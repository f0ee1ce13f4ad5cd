package main

import (
	"context"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/gormstore"
)

// policiesOf are the verbs about the policy in that database. ids and rule are
// nil for a command: it opens a worker only to change something, and there is
// nobody here to act by the change.
func policiesOf(db *gormstore.DB, ids audit.IDs, rule *policy.Live, log *slog.Logger) *admin.Policies {
	p := &admin.Policies{
		Store: &gormstore.Settings{DB: db}, IDs: ids, Now: time.Now,
		Schedule: func(spec string) error { _, err := sweep.ParseSchedule(spec); return err },
	}
	if rule != nil {
		p.Changed = func(ctx context.Context) {
			// Also for a client that is gone. If it fails, the next poll does it.
			if err := rule.Refresh(context.WithoutCancel(ctx)); err != nil {
				log.WarnContext(ctx, "policy changed, and not read again; the next poll will", "err", err)
			}
		}
	}
	return p
}

// eventsOf is the record in that database.
func eventsOf(db *gormstore.DB) *gormstore.Audit { return &gormstore.Audit{DB: db} }

// firstAdminsEvent records that somebody has made the first admin, in the console.
func firstAdminsEvent(ids audit.IDs) func(context.Context, account.User) (string, []any, error) {
	return func(ctx context.Context, u account.User) (string, []any, error) {
		e, err := admin.CreatedOwn(audit.NewContext(ctx, audit.Actor{Via: audit.ViaConsole}), ids, u)
		if err != nil {
			return "", nil, err
		}
		insert, args := gormstore.EventRow(e)
		return insert, args, nil
	}
}

// operatorName is who types a command, for the record: user@host.
func operatorName() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return name + "@" + host
}

// byOperator is ctx, in which the one who types this command acts.
func byOperator(ctx context.Context) context.Context {
	return audit.NewContext(ctx, audit.Actor{Name: operatorName(), Via: audit.ViaCLI})
}

// withIDs opens what mints the IDs of events while f runs.
func (o *office) withIDs(ctx context.Context, f func(ids audit.IDs) error) error {
	ids, closeIDs, err := openEventIDs(ctx, o.cfg, o.db, o.log)
	if err != nil {
		return err
	}
	defer closeIDs()
	return f(ids)
}
