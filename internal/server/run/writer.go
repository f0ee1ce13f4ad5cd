package run

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

const (
	tryAgain  = 500 * time.Millisecond // how often a waiting server looks for a writer
	tellAgain = 10 * time.Second       // how often it says that it waits
)

var errNoWriter = errors.New("the server takes no writes (read_only is on): it is a replica, or a primary that was replaced; name the address of the server that takes them")

// patiently opens the database. While that fails for a reason that may pass by itself, it
// tries again, for limit at most, and says so. The limit begins with the first failure. It returns
// an error of ctx if that ends meanwhile, and any other failure at once.
func patiently(ctx context.Context, limit time.Duration, log *slog.Logger, open func(context.Context) (*sqlstore.DB, error)) (*sqlstore.DB, error) {
	pause := time.NewTicker(tryAgain)
	defer pause.Stop()
	var began, told time.Time
	for {
		db, err := open(ctx)
		now := time.Now()
		if err == nil {
			if !began.IsZero() {
				log.InfoContext(ctx, "the database takes writes", "waited", now.Sub(began).Round(time.Second))
			}
			return db, nil
		}
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		if limit == 0 || !mayPass(err) {
			return nil, err
		}
		if began.IsZero() {
			began = now
		}
		left := limit - now.Sub(began)
		if left <= 0 {
			return nil, fmt.Errorf("%w; waited for %v (FLAKEPASS_DATABASE_WAIT)", err, limit)
		}
		if told.IsZero() || now.Sub(told) >= tellAgain {
			told = now
			log.WarnContext(ctx, "waiting for a database that takes writes", "at_most", left.Round(time.Second), "err", err)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// findWriter returns nil if the database answers and takes writes. Its connection gives up
// after some seconds, as one for a migration must not.
func findWriter(ctx context.Context, cfg config.Config) error {
	db, err := Connect(ctx, cfg, slog.New(slog.DiscardHandler), false) // the driver would log each failure
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	writes, err := db.TakesWrites(ctx)
	if err == nil && !writes {
		err = errNoWriter
	}
	if err != nil {
		return fmt.Errorf("database (FLAKEPASS_DATABASE): %w", err)
	}
	return nil
}

// temporary are the refusals of servers and of proxies for databases that end by themselves.
var temporary = []uint16{
	1040, 1203, 1226, // too many connections
	1290, 1792, 1836, 3032, // read-only, offline
	1047, 1180, 3100, // Galera and Group Replication: no majority, or not ready
	1053, 1077, 1079, 1317, 1927, 3169, // shutting down, connection killed
	1205, 1213, // another transaction was in the way
	2002, 2003, 2006, 2013, 9001, // a proxy has no server to send the connection to
}

// mayPass reports that waiting may mend an error. It does not mend a refused user, an unknown
// database or a certificate. A name that does not resolve may be that of a server that is
// to start.
func mayPass(err error) bool {
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains(temporary, refused.Number)
	}
	// What TLS says, it says as an error of the network.
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return false
	}
	for _, lost := range []error{errNoWriter, driver.ErrBadConn, mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, lost) {
			return true
		}
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}
