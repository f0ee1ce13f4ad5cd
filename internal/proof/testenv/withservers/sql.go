//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
)

// initSQL lets root in over TCP. Names are not resolved, so root@localhost
// covers the socket only.
const initSQL = `CREATE USER IF NOT EXISTS 'root'@'127.0.0.1' IDENTIFIED BY '';
GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
`

// sqlArgs are the arguments that MySQL and MariaDB share. The databases run
// with their defaults, most of all with every commit flushed to disk: a test
// that kills a server, or times one, is about what production does. (Those that
// all tests share get hastySQL on top.) Only what many parallel tests need is
// raised, and what no test looks at is left out. The socket's path is relative
// to the data folder: a full one may be too long.
func sqlArgs(dir string, port int) []string {
	return []string{
		"--datadir=" + filepath.Join(dir, "data"),
		"--port=" + strconv.Itoa(port),
		"--bind-address=127.0.0.1",
		"--socket=socket",
		"--pid-file=" + filepath.Join(dir, "pid"),
		"--init-file=" + filepath.Join(dir, "init.sql"),
		"--skip-name-resolve",
		"--max-connections=500",
	}
}

// hastySQL are the arguments with which a commit waits for no disk. What is
// locked, what a transaction sees and what a statement answers stay as they are.
func hastySQL() []string {
	return []string{"--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--innodb-doublewrite=0"}
}

// asUser is the argument without which both refuse to run as root.
func asUser() []string {
	if os.Getuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func sqlAddress(port int) string { return fmt.Sprintf("root@tcp(127.0.0.1:%d)/", port) }

// sqlReady returns nil if the server on port answers a query and its data
// folder is ours: a stranger may have taken the port first.
func sqlReady(dir string) func(ctx context.Context, port, pid int) error {
	return func(ctx context.Context, port, _ int) error {
		config, err := mysql.ParseDSN(sqlAddress(port))
		if err != nil {
			return err
		}
		config.Timeout, config.ReadTimeout = time.Second, 5*time.Second
		config.Logger = &mysql.NopLogger{} // refused connections are what is expected here
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return err
		}
		db := sql.OpenDB(connector)
		defer func() { _ = db.Close() }()
		var data string
		if err := db.QueryRowContext(ctx, "SELECT @@datadir").Scan(&data); err != nil {
			return err
		}
		if want := filepath.Join(dir, "data"); filepath.Clean(data) != want {
			return fmt.Errorf("the server on port %d keeps its data in %s, not in %s", port, data, want)
		}
		return nil
	}
}
