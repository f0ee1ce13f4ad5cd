package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// Copies are replicas of the database. Of each it is known how old the lease of
// the sweep is there, which a pass writes every second: a heartbeat that needs
// neither a table nor a privilege of its own, and is compared with the same
// column of the source, so no two clocks are.
type Copies struct {
	source *DB
	copies []*sql.DB

	mu    sync.Mutex
	pass  idworker.ID
	first int64 // the lease of the pass when it was first asked about
}

var _ sweep.Copies = (*Copies)(nil)

// copyLimit is how long a copy may take to answer.
const copyLimit = time.Second

// OpenCopies prepares to ask replicas, each by the source that [MySQLSource]
// makes. It connects to none. log gets the messages of the driver.
func OpenCopies(source *DB, sources []string, log *slog.Logger) (*Copies, error) {
	c := &Copies{source: source}
	for i, s := range sources {
		db, err := openCopy(s, log)
		if err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("sqlstore: replica %d: %w", i+1, err)
		}
		db.SetMaxOpenConns(1)
		db.SetConnMaxLifetime(30 * time.Minute)
		c.copies = append(c.copies, db)
	}
	return c, nil
}

func openCopy(source string, log *slog.Logger) (*sql.DB, error) {
	c, err := mysql.ParseDSN(source)
	if err != nil {
		return nil, errors.New("not a DSN of go-sql-driver")
	}
	c.Logger = driverLog{log}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Close closes the connections.
func (c *Copies) Close() error {
	var errs []error
	for _, db := range c.copies {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

const leaseNow = "SELECT pass_id, lease_until FROM sweep_state WHERE id = 1"

// Behind asks all copies at once, after the source.
func (c *Copies) Behind(ctx context.Context, pass idworker.ID) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*copyLimit)
	defer cancel()
	var holder, lease int64
	if err := c.source.sql.QueryRowContext(ctx, leaseNow).Scan(&holder, &lease); err != nil {
		return 0, fmt.Errorf("sqlstore: how far replicas are: %w", err)
	}
	if idworker.ID(holder) != pass {
		return 0, nil // the pass is over; it will notice
	}
	c.mu.Lock()
	if c.pass != pass {
		c.pass, c.first = pass, lease
	}
	first := c.first
	c.mu.Unlock()

	var all sync.WaitGroup
	behind, errs := make([]int64, len(c.copies)), make([]error, len(c.copies))
	for i, db := range c.copies {
		all.Go(func() {
			there, err := leaseAt(ctx, db, pass, first)
			if err != nil {
				errs[i] = fmt.Errorf("sqlstore: replica %d of FLAKEPASS_REPLICAS: %w", i+1, err)
				return
			}
			behind[i] = lease - there
		})
	}
	all.Wait()
	var most int64
	for _, ms := range behind {
		most = max(most, ms)
	}
	return time.Duration(most) * time.Millisecond, errors.Join(errs...)
}

// leaseAt is the lease of the pass as a copy has it. A copy without the row of the
// pass has at best what was there before.
func leaseAt(ctx context.Context, db *sql.DB, pass idworker.ID, first int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel()
	var holder, lease int64
	err := db.QueryRowContext(ctx, leaseNow).Scan(&holder, &lease)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && idworker.ID(holder) != pass:
		return first, nil
	case err != nil:
		return 0, err
	}
	return lease, nil
}
