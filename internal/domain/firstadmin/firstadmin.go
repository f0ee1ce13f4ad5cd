// Package firstadmin makes the first admin of a deployment, and no second.
//
// Every instance that starts on an empty database gives out a link to make the
// first admin, and each can only see its own. So the database decides: it is
// asked whether there is an admin, and given one, in one transaction, of which
// it runs one at a time.
package firstadmin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/migrations"
)

// Users are the accounts, of which only the first admin can be created. All
// fields are required.
type Users struct {
	Named interface {
		ByUsername(ctx context.Context, username string) (account.User, error)
	}
	DB      *sql.DB
	Dialect migrations.Dialect
	// Row is the statement that writes an event.
	Row func(audit.Event) (insert string, args []any)
}

// patience bounds the transaction, waiting for those before it included.
const patience = 3 * time.Second

// Create stores u, whose role must be admin, with the events of it, if nobody has
// that role yet.
// Otherwise it returns [account.ErrHasAdmin], or [account.ErrExists] when the
// name is taken, and changes nothing. Any other error says that the database did
// not say; u may have been stored all the same.
func (s *Users) Create(ctx context.Context, u account.User, events ...audit.Event) error {
	if u.Role != account.RoleAdmin {
		return fmt.Errorf("firstadmin: create: %w: not an admin", account.ErrRole)
	}
	err := s.create(ctx, u, events)
	if err == nil || errors.Is(err, account.ErrHasAdmin) {
		return err
	}
	// Which error means a double differs by database; what is there does not.
	switch there, lookup := s.Named.ByUsername(ctx, u.Username); {
	case lookup == nil && there.ID == u.ID:
		return nil // it was only the answer that got lost
	case lookup == nil:
		return account.ErrExists
	}
	return fmt.Errorf("firstadmin: create: %w", err)
}

func (s *Users) create(ctx context.Context, u account.User, events []audit.Event) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tx, err := s.DB.BeginTx(ctx, nil) // in SQLite it holds the write lock from here on
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if s.Dialect == migrations.MySQL {
		// A row that is always there, and that no other transaction locks for long. There is
		// none to lock for an admin who is not.
		var scope string
		if err := tx.QueryRowContext(ctx, "SELECT scope FROM settings WHERE scope = 'global' FOR UPDATE").Scan(&scope); err != nil {
			return fmt.Errorf("lock the settings: %w", err)
		}
	}
	var has bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM users WHERE role = 'admin')").Scan(&has); err != nil {
		return err
	}
	if has {
		return account.ErrHasAdmin
	}
	if _, err := tx.ExecContext(ctx,
		"INSERT INTO users (id, username, password_hash, password_version, role, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
		int64(u.ID), u.Username, u.PasswordHash.Reveal(), u.PasswordVersion, string(u.Role), u.CreatedAt.UnixMilli(), u.UpdatedAt.UnixMilli(),
	); err != nil {
		return err
	}
	for _, e := range events {
		insert, args := s.Row(e)
		if _, err := tx.ExecContext(ctx, insert, args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
