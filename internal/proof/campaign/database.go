//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite" // the file of an instance without a server

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// errAbsent says that a server of a configuration is not installed.
var errAbsent = errors.New("absent")

// A database is what the instances of one configuration keep their rows in. A
// MySQL and a MariaDB are servers of the campaign's own, for it stops their
// commits; so is a Redis.
type database struct {
	kind    string
	file    string // of SQLite
	addr    string // of the others
	db      *sql.DB
	process *server.Process
	site    *site // where it is a cluster; addr is then where commands and the operator reach it
}

const schema = "flakepass"

func openDatabase(ctx context.Context, kind, dir string) (_ *database, err error) {
	if t, ok := topologies[kind]; ok {
		return t.open(ctx)
	}
	d := &database{kind: kind}
	if kind == "sqlite" {
		d.file = filepath.Join(dir, "flakepass.db")
		d.db, err = sql.Open("sqlite", "file:"+d.file+"?_pragma=busy_timeout(5000)")
		return d, err
	}
	port, err := server.FreePort(ctx)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, kind)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	d.process, err = server.Prepare(ctx, kind, folder, port)
	if errors.Is(err, server.ErrNoServers) {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	} else if err != nil {
		return nil, err
	}
	d.addr = fmt.Sprintf("127.0.0.1:%d", port)
	if err := d.process.Start(); err != nil {
		return nil, err
	}
	config := d.config()
	err = d.process.Wait(ctx, func(ctx context.Context) error {
		bare, err := mysql.NewConnector(config)
		if err != nil {
			return err
		}
		db := sql.OpenDB(bare)
		defer db.Close()
		_, err = db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+schema+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
		return err
	})
	if err != nil {
		return nil, errors.Join(err, d.process.Stop())
	}
	if err := d.connect(); err != nil {
		return nil, errors.Join(err, d.process.Stop())
	}
	return d, nil
}

// config says how the server is reached.
func (d *database) config() *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.Timeout = "root", "tcp", d.addr, time.Second
	c.Logger = &mysql.NopLogger{} // that it is not there is what is waited for
	return c
}

// connect makes the pool of connections to the schema.
func (d *database) connect() error {
	c := d.config()
	c.DBName = schema
	connector, err := mysql.NewConnector(c)
	if err == nil {
		d.db = sql.OpenDB(connector)
	}
	return err
}

// at is where the instance of that number has its database.
func (d *database) at(n int) string {
	if d.site != nil {
		return d.site.at[n]
	}
	return d.addr
}

// url is the setting of an instance that reaches the database at that address.
func (d *database) url(addr string) string {
	if d.kind == "sqlite" {
		return "sqlite:" + d.file
	}
	return "mysql://root@" + addr + "/" + schema
}

func (d *database) close() {
	d.db.Close()
	if d.site != nil {
		_ = d.site.close()
	}
	if d.process != nil && d.process.Running() {
		_ = d.process.Kill() // its data is not read any more
	}
}

// stall keeps every commit from happening until the function that it returns is
// called, as a replica does that does not acknowledge. With SQLite and MySQL no
// write begins, either.
func (d *database) stall(ctx context.Context) (release func(), err error) {
	begin, end := "BEGIN IMMEDIATE", "ROLLBACK"
	switch d.kind {
	case "mysql":
		begin, end = "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"
	case "mariadb":
		begin, end = "BACKUP STAGE BLOCK_COMMIT", "BACKUP STAGE END"
	}
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if d.kind == "mariadb" {
		if _, err = conn.ExecContext(ctx, "BACKUP STAGE START"); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if _, err = conn.ExecContext(ctx, begin); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), end)
		_ = conn.Close()
	}, nil
}

// setPolicy writes a policy as an operator with access to the database can, for
// the API and the shell set nothing below five minutes. What the policy of
// before has ended stays over, as with a change by the API.
//
// Only what makes the policy shorter is written so. To make it longer is what
// the product has rules for, so that is left to the shell.
func (d *database) setPolicy(ctx context.Context, idle, absolute, touch time.Duration) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	greatest := "GREATEST"
	if d.kind == "sqlite" {
		greatest = "MAX"
	}
	now := time.Now().UnixMilli()
	if _, err = tx.ExecContext(ctx, "UPDATE settings SET idle_base = "+greatest+"(idle_base, ? - idle_timeout_ms), absolute_base = "+greatest+
		"(absolute_base, ? - absolute_lifetime_ms), idle_timeout_ms = ?, absolute_lifetime_ms = ?, touch_interval_ms = ?, version = version + 1, "+
		"updated_at = ?, updated_by = 'campaign' WHERE scope = 'global'",
		now, now, idle.Milliseconds(), absolute.Milliseconds(), touch.Milliseconds(), now); err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, "INSERT INTO policies (scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, "+
		"updated_at, updated_by, note) SELECT scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, updated_at, "+
		"updated_by, 'campaign' FROM settings WHERE scope = 'global'"); err != nil {
		return err
	}
	return tx.Commit()
}
