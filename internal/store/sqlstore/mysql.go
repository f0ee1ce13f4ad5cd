package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MySQLSource is the DSN for a URL of the form
// mysql://user:password@host:3306/name?params. The parameters are those of
// go-sql-driver; the ones that flakepass depends on cannot be changed. An error
// never shows any part of the URL: what looks like a host or a parameter may be
// the rest of a password in which a character is not escaped.
func MySQLSource(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" || u.User.Username() == "" || u.Hostname() == "" || len(u.Path) < 2 {
		return "", errors.New("sqlstore: the database URL is not of the form mysql://user:password@host:3306/name")
	}
	addr := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", errors.New("sqlstore: the host in the database URL is none")
	}
	// A DSN ends its credentials at the last slash, and its user at a colon.
	c, err := parseDSN("tcp(x)/?" + strings.ReplaceAll(u.RawQuery, "/", "%2F"))
	if err != nil {
		return "", errors.New("sqlstore: the database URL has a parameter that go-sql-driver does not take")
	}
	if strings.Contains(u.User.Username(), ":") {
		return "", errors.New("sqlstore: the user in the database URL has a colon")
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr, c.DBName = "tcp", addr, strings.TrimPrefix(u.Path, "/")
	return format(c)
}

// MySQLSourceDSN is [MySQLSource] for what is a DSN already.
func MySQLSourceDSN(dsn string) (string, error) {
	c, err := parseDSN(dsn)
	if err != nil {
		return "", errors.New("sqlstore: not a DSN of go-sql-driver")
	}
	return format(c)
}

// parseDSN is [mysql.ParseDSN], which panics on a parameter that it took once.
func parseDSN(dsn string) (c *mysql.Config, err error) {
	defer func() {
		if recover() != nil {
			c, err = nil, errors.New("a parameter that go-sql-driver takes no more")
		}
	}()
	return mysql.ParseDSN(dsn)
}

// format sets what the statements of this package count on.
func format(c *mysql.Config) (string, error) {
	c.ClientFoundRows = true // compare-and-set counts rows matched, not rows changed
	// The driver escapes values itself, which is safe in the one character set
	// chosen here and not in every other.
	c.InterpolateParams = true
	if err := c.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")); err != nil {
		return "", fmt.Errorf("sqlstore: character set: %w", err)
	}
	c.ColumnsWithAlias = false // rows are read by the plain names of columns
	c.MultiStatements = false
	c.RejectReadOnly = false // the driver would leave the server without its reason; see refusedWrite
	c.ParseTime = true
	c.Loc = time.UTC
	c.Timeout = cmp.Or(max(c.Timeout, 0), time.Second) // less than none would be none
	c.ReadTimeout = cmp.Or(max(c.ReadTimeout, 0), 2*tau)
	c.WriteTimeout = cmp.Or(max(c.WriteTimeout, 0), 2*tau)
	ours := map[string]string{
		"autocommit": "1",
		// Less than tau: it is the database that gives up, so nothing happens
		// after its caller got the error.
		"innodb_lock_wait_timeout": "2",
		"sql_mode":                 "'TRADITIONAL,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY'",
		// In the hour that a clock repeats in autumn, the database would read its
		// own local time as the earlier of two instants.
		"time_zone": "'+00:00'",
		// Servers may have these for people who type statements. An update without a key in its
		// WHERE would fail, and a list would end too early.
		"sql_safe_updates": "0",
		"sql_select_limit": "18446744073709551615",
	}
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	seen := map[string]bool{}
	for name := range c.Params { // names of variables know no case
		if name = strings.ToLower(name); seen[name] {
			return "", errors.New("sqlstore: the database URL sets a variable twice, in small and in capital letters")
		}
		seen[name] = true
	}
	maps.DeleteFunc(c.Params, func(name, _ string) bool {
		_, fixed := ours[strings.ToLower(name)]
		return fixed
	})
	maps.Copy(c.Params, ours)
	return c.FormatDSN(), nil
}

// openMySQL makes a pool of connections.
func openMySQL(dsn string, patient bool, log *slog.Logger) (*sql.DB, *connector, error) {
	c, err := parseDSN(dsn)
	if err != nil {
		return nil, nil, errors.New("not a DSN of go-sql-driver")
	}
	if patient {
		c.ReadTimeout = 0
	}
	if log != nil {
		c.Logger = driverLog{log}
	}
	to, err := mysql.NewConnector(c)
	if err != nil {
		return nil, nil, err
	}
	made := &connector{Connector: to}
	return sql.OpenDB(made), made, nil
}

// A driverLog passes on what the driver has to say of its connections, which it
// would write to standard error in its own way.
type driverLog struct{ log *slog.Logger }

// Print is what the driver calls.
func (l driverLog) Print(v ...any) {
	l.log.Warn("mysql driver", "says", strings.TrimSpace(fmt.Sprintln(v...)))
}

// A connector makes the connections of a pool. Each asks its server what it is, for the
// address may lead to another one than before.
type connector struct {
	driver.Connector

	server      atomic.Pointer[server] // that the newest connection leads to
	replaceable atomic.Bool            // what [DB.Replaceable] says of it: each check from memory asks
	decides     atomic.Pointer[string] // the name of the server that the last poll was on; nil: there was none, or each proves itself
	generation  atomic.Int64           // connections of an earlier one are closed when they are free
	left        atomic.Int64           // when a generation ended last, in Unix milliseconds
}

// Connect connects and sets up the session. It fails with an [*UnfitError] if the promise
// cannot be kept on this server.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	generation := c.generation.Load()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	session, err := newConn(conn, c, generation)
	if err == nil {
		err = c.prepare(ctx, session)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return session, nil
}

func (c *connector) prepare(ctx context.Context, session *mysqlConn) error {
	there, err := askServer(ctx, session)
	if err == nil {
		err = there.unfit()
	}
	if err != nil {
		return err
	}
	for _, statement := range there.session() {
		if _, err := session.ExecContext(ctx, statement, nil); err != nil {
			return err
		}
	}
	session.server = there.name()
	c.server.Store(&there)
	c.replaceable.Store(there.several() && !there.galera())
	return nil
}

// leave lets no connection that there is be used once more. It does so once a second at
// most: requests would have to connect anew all the time while no better server is there.
func (c *connector) leave() {
	last, now := c.left.Load(), time.Now().UnixMilli()
	// A time to come is of a clock that was set back since.
	if recent := last <= now && now-last < 1000; !recent && c.left.CompareAndSwap(last, now) {
		c.generation.Add(1)
	}
}
