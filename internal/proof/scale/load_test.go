package scale

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// A loaded table has columns, and a row for each number of a person in one slot, or none.
type loaded struct {
	table, columns string
	row            func(b []byte, i int) []byte
	slots          int
}

func (d *deployment) tables() []loaded {
	all := []loaded{{"users", "id, username, password_hash, role, token_id, token_hash, token_seen_at, token_floor, token_floor_at, " +
		"ended_token_id, ended_token_hash, ended_reason, created_at, updated_at", d.appendRow, 1}}
	if d.further > 0 {
		all = append(all, loaded{"user_slots", "id, user_id, slot, token_id, token_hash, token_seen_at", d.appendSlots, d.further})
	}
	return all
}

// load fills the tables. The indexes are made after, which is many times faster
// than to keep them while rows come in. It returns how long the rows took, the
// indexes, and the one of migration 00006 by itself.
func (d *deployment) load(t testing.TB) (rows, indexes, role time.Duration) {
	t.Helper()
	conn, err := d.root.Conn(t.Context())
	must(t, err)
	defer func() { must(t, conn.Close()) }()
	for _, set := range []string{
		"SET GLOBAL local_infile = ON", "SET SESSION sql_log_bin = 0", "SET SESSION unique_checks = 0",
		"SET SESSION innodb_ddl_threads = 2", "SET SESSION innodb_ddl_buffer_size = 268435456",
	} {
		execOn(t, conn, set)
	}
	for _, into := range d.tables() {
		drop, add := rebuild(t, conn, into.table)
		execOn(t, conn, drop)
		start := time.Now()
		chunk := 250_000 / into.slots // a transaction of so many rows is nothing to MySQL
		for from := 0; from < d.n; from += chunk {
			s := &stream{row: into.row, next: from, end: min(from+chunk, d.n)}
			name := d.name + into.table + strconv.Itoa(from)
			mysql.RegisterReaderHandler(name, func() io.Reader { return s })
			execOn(t, conn, "LOAD DATA LOCAL INFILE 'Reader::"+name+"' INTO TABLE "+into.table+" CHARACTER SET binary ("+into.columns+")")
			mysql.DeregisterReaderHandler(name)
		}
		rows += time.Since(start)
		start = time.Now()
		execOn(t, conn, add)
		indexes += time.Since(start)
		execOn(t, conn, "ANALYZE TABLE "+into.table)
	}
	start := time.Now()
	execOn(t, conn, "ALTER TABLE users ADD KEY users_role (role)")
	return rows, indexes, time.Since(start)
}

// rebuild is what drops the indexes of a table, and what makes them anew, but for
// the one on role.
func rebuild(t testing.TB, conn *sql.Conn, table string) (drop, add string) {
	t.Helper()
	found, err := conn.QueryContext(t.Context(), "SELECT index_name, non_unique, GROUP_CONCAT(column_name ORDER BY seq_in_index) "+
		"FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name <> 'PRIMARY' "+
		"GROUP BY index_name, non_unique", table)
	must(t, err)
	defer func() { must(t, found.Close()) }()
	var drops, adds []string
	for found.Next() {
		var name, columns string
		var many bool
		must(t, found.Scan(&name, &many, &columns))
		drops = append(drops, "DROP INDEX "+name)
		if name == "users_role" {
			continue
		}
		kind := "UNIQUE KEY"
		if many {
			kind = "KEY"
		}
		adds = append(adds, fmt.Sprintf("ADD %s %s (%s)", kind, name, columns))
	}
	must(t, found.Err())
	return "ALTER TABLE " + table + " " + strings.Join(drops, ", "), "ALTER TABLE " + table + " " + strings.Join(adds, ", ")
}

// phc is as long as what the default parameters make.
const phc = "$argon2id$v=19$m=19456,t=2,p=1$c2NhbGVzY2FsZXNjYWxlcw$c2NhbGVzY2FsZXNjYWxlc2NhbGVzY2FsZXNjYWxlc2M"

// A stream is people as LOAD DATA reads them.
type stream struct {
	row       func(b []byte, i int) []byte
	next, end int
	ready     []byte
	buffer    []byte
}

func (s *stream) Read(into []byte) (int, error) {
	if len(s.ready) == 0 {
		s.buffer = s.buffer[:0]
		for ; s.next < s.end && len(s.buffer) < 1<<16; s.next++ {
			s.buffer = s.row(s.buffer, s.next)
		}
		if s.ready = s.buffer; len(s.ready) == 0 { // the others have no further slots
			return 0, io.EOF
		}
	}
	n := copy(into, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

func (c *crowd) appendRow(b []byte, i int) []byte {
	p := c.at(i)
	b = strconv.AppendInt(b, p.id, 10)
	b = fmt.Appendf(b, "\t%s\t%s\t%s", p.name(), phc, map[bool]string{true: "admin", false: "user"}[i%100_000 == 0])
	b = appendLogin(b, p.token, p.hash[:])
	b = appendNumber(b, p.seen)
	b = fmt.Appendf(b, "\t%d\t%d", p.floor, p.floorAt)
	b = appendLogin(b, p.ended, p.endedHash[:])
	if p.why == "" {
		p.why = `\N`
	}
	return fmt.Appendf(b, "\t%s\t%d\t%d\n", p.why, p.created, p.created)
}

// appendSlots are the rows of the further slots of a person.
func (c *crowd) appendSlots(b []byte, i int) []byte {
	if i%10 > 5 {
		return b
	}
	p := c.at(i)
	for slot := range int64(c.further) {
		id := p.token + slot + 1
		b = fmt.Appendf(b, "%d\t%d\t%d", id, p.id, slot+1)
		hash := hashOf(id)
		b = appendLogin(b, id, hash[:])
		b = append(appendNumber(b, p.seen), '\n')
	}
	return b
}

func appendLogin(b []byte, id int64, hash []byte) []byte {
	b = appendNumber(b, id)
	if id == 0 {
		return append(b, "\t\\N"...)
	}
	b = append(b, '\t')
	for _, c := range hash {
		switch c {
		case 0:
			b = append(b, `\0`...)
		case '\\', '\t', '\n':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return b
}

func appendNumber(b []byte, n int64) []byte {
	if n == 0 {
		return append(b, "\t\\N"...)
	}
	return strconv.AppendInt(append(b, '\t'), n, 10)
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func execOn(t testing.TB, on execer, query string, args ...any) (written int64) {
	t.Helper()
	result, err := on.ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%.200s: %v", query, err)
	}
	written, err = result.RowsAffected()
	must(t, err)
	return written
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
