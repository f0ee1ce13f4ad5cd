//go:build unix

package main

import (
	"context"
	"database/sql"
	"encoding/json"
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

// sessions are the IDs of those that the rows have.
func (d *database) sessions(ctx context.Context) (map[uint64]bool, error) {
	rows, err := d.db.QueryContext(ctx, "SELECT token_id FROM users WHERE token_id IS NOT NULL UNION ALL SELECT token_id FROM user_slots WHERE token_id IS NOT NULL")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[uint64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		all[uint64(id)] = true
	}
	return all, rows.Err()
}

// setPolicy writes a policy as an operator with access to the database can, for
// the API and the shell set nothing below five minutes. What the policy of
// before has ended stays over, as with a change by the API.
//
// Only what makes the policy shorter is written so. To make it longer is what
// the product has rules for, so that is left to the shell.
func (d *database) setPolicy(ctx context.Context, to rule, over overrides) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	// It locks the row, and SQLite.
	if _, err := tx.ExecContext(ctx, "UPDATE settings SET version = version + 1 WHERE scope = 'global'"); err != nil {
		return err
	}
	var old scope
	var text []byte
	if err := tx.QueryRowContext(ctx, "SELECT idle_timeout_ms, absolute_lifetime_ms, idle_base, absolute_base, terms FROM settings WHERE scope = 'global'").
		Scan(&old.idle, &old.absolute, &old.IdleBase, &old.AbsoluteBase, &text); err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	bases := old.basesAt(now)
	if text, err = overriding(text, old, over, now); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE settings SET idle_base = ?, absolute_base = ?, idle_timeout_ms = ?, absolute_lifetime_ms = ?, touch_interval_ms = ?, terms = ?, "+
		"updated_at = ?, updated_by = 'campaign' WHERE scope = 'global'", bases.IdleBase, bases.AbsoluteBase,
		to.idle.Milliseconds(), to.absolute.Milliseconds(), to.touch.Milliseconds(), text, now); err != nil {
		return err
	}
	const kept = "scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, max_sessions, terms, updated_at, updated_by"
	if _, err := tx.ExecContext(ctx, "INSERT INTO policies ("+kept+", note) SELECT "+kept+", 'campaign' FROM settings WHERE scope = 'global'"); err != nil {
		return err
	}
	return tx.Commit()
}

// terms is what a policy says of classes, as its row has it.
type terms struct {
	Overrides []override `json:"overrides,omitempty"`
	Bases     []scope    `json:"bases,omitempty"`
}

type override struct {
	Class    string `json:"device_class"`
	Idle     int64  `json:"idle_timeout_seconds"`
	Absolute int64  `json:"absolute_lifetime_seconds"`
	Touch    int64  `json:"touch_interval_seconds"`
}

// A scope has the instants up to which the sessions of a class were over when the policy
// last changed, in Unix milliseconds, and the times by which they went on.
type scope struct {
	Class          string `json:"device_class,omitempty"`
	IdleBase       int64  `json:"idle_base"`
	AbsoluteBase   int64  `json:"absolute_base"`
	idle, absolute int64
}

func (s scope) basesAt(now int64) scope {
	s.IdleBase, s.AbsoluteBase = max(s.IdleBase, now-s.idle), max(s.AbsoluteBase, now-s.absolute)
	return s
}

// overriding is the text of the next policy with those overrides, after one with that text.
// Each class that ever had an override stays, so that what it has ended stays over.
func overriding(text []byte, all scope, over overrides, now int64) ([]byte, error) {
	var old, next terms
	if len(text) > 0 {
		if err := json.Unmarshal(text, &old); err != nil {
			return nil, err
		}
	}
	scopes := map[string]scope{"": all}
	for _, s := range old.Bases {
		if s.Class != "" {
			s.idle, s.absolute = all.idle, all.absolute
			scopes[s.Class] = s
		}
	}
	for class, r := range over {
		if _, ok := scopes[class]; !ok {
			scopes[class] = scope{class, all.IdleBase, all.AbsoluteBase, all.idle, all.absolute}
		}
		next.Overrides = append(next.Overrides, override{class, int64(r.idle.Seconds()), int64(r.absolute.Seconds()), int64(r.touch.Seconds())})
	}
	for _, o := range old.Overrides {
		s := scopes[o.Class]
		s.idle, s.absolute = 1000*o.Idle, 1000*o.Absolute
		scopes[o.Class] = s
	}
	if len(scopes) == 1 {
		return nil, nil
	}
	for _, s := range scopes {
		next.Bases = append(next.Bases, s.basesAt(now))
	}
	return json.Marshal(next)
}
