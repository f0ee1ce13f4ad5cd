package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// Copies are replicas of the database. The latest time in the table polls shows how far a replica
// is. Each poll of an instance writes that table, whether or not a pass runs, and each question of
// a pass does: so it needs no table of its own. The latest time of the replica is compared with
// that of the source. The source wrote both, so the clock of the replica does not count.
type Copies struct {
	source *DB
	copies []*sql.DB
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

const (
	lastPolled = "SELECT COALESCE(MAX(polled_at), 0) FROM polls"
	// pollApart is how long after one row of polls the next is written. By so much a copy may
	// lack what was written just now.
	pollApart = time.Second
)

// Behind asks all copies at once, after it has written to the source what they are asked for. It
// asks them also if that fails.
func (c *Copies) Behind(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*copyLimit)
	defer cancel()
	last, err := c.beat(ctx)
	var all sync.WaitGroup
	behind, errs := make([]time.Duration, len(c.copies)), make([]error, len(c.copies))
	for i, db := range c.copies {
		all.Go(func() {
			there, err := polledAt(ctx, db)
			if err != nil {
				errs[i] = fmt.Errorf("sqlstore: replica %d of FLAKEPASS_REPLICAS: %w", i+1, err)
				return
			}
			behind[i] = max(0, time.Duration(last-there)*time.Millisecond-pollApart)
		})
	}
	all.Wait()
	return slices.Max(append(behind, 0)), errors.Join(append(errs, failed("how far replicas are", err))...)
}

// beat writes a row of its own into polls, for no instance may run, and returns the last of all.
// The poll of any instance deletes the row when no pass has asked in a while.
func (c *Copies) beat(ctx context.Context) (int64, error) {
	if err := c.source.gorm.WithContext(ctx).Exec(c.source.d.polledBy(), "sweep").Error; err != nil {
		return 0, err
	}
	return polledAt(ctx, c.source.sql)
}

func polledAt(ctx context.Context, db *sql.DB) (at int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel()
	err = db.QueryRowContext(ctx, lastPolled).Scan(&at)
	return at, err
}
