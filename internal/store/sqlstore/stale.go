package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// clearedBy is the condition of each stage, with the column that it goes by, and why
// a login of that stage ended.
func clearedBy(m sweep.Marks, stage sweep.Stage) (column string, mark int64, why session.Reason) {
	switch stage {
	case sweep.Expired:
		return "token_id", int64(m.Issued), session.Expired
	case sweep.Revoked:
		return "token_id", int64(m.Floor), session.Revoked
	default:
		return "token_seen_at", m.Seen.UnixMilli(), session.Idle
	}
}

// Stale walks the index of a stage, in each table. It reads on where the cursor is: what
// was cleared before stays in the index until the database has purged it, and each
// batch would walk over all of that again.
//
// The limit is of what is looked at: no index knows the parts of a policy, and a statement
// that looked for so many of a rare one would read a large table to its end.
func (s *Sweeps) Stale(ctx context.Context, m sweep.Marks, from sweep.Cursor, limit int) ([]sweep.Login, sweep.Cursor, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var seen []entry
	for _, table := range s.DB.tables() {
		of, err := s.entries(ctx, table, m, from, limit)
		if err != nil {
			return nil, from, fmt.Errorf("sqlstore: sweep: %w", ended(ctx, err))
		}
		seen = append(seen, of...)
	}
	slices.SortFunc(seen, func(a, b entry) int { return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Row, b.Row)) })
	to := sweep.Cursor{Stage: from.Stage + 1}
	if len(seen) >= limit {
		seen = seen[:limit]
		to = sweep.Cursor{Stage: from.Stage, Value: seen[limit-1].Value, Row: seen[limit-1].Row}
	}
	var stale []sweep.Login
	for _, e := range seen {
		if e.over {
			stale = append(stale, e.Login)
		}
	}
	return stale, to, nil
}

// An entry is a login that a stage looks at, which may be none of the part that it is about.
type entry struct {
	sweep.Login
	over bool
}

// entries reads what the index alone has, and of a part the row as well: whose slot it is,
// [Sweeps.Clear] reads.
func (s *Sweeps) entries(ctx context.Context, table string, m sweep.Marks, from sweep.Cursor, limit int) ([]entry, error) {
	column, mark, _ := clearedBy(m, from.Stage)
	in, of := partOf(table, m.Part)
	query := "SELECT id, token_id, token_id AS value, CASE WHEN 0 = 0" + in + " THEN 1 ELSE 0 END AS is_over FROM " + table +
		" WHERE token_id > ? AND token_id <= ? ORDER BY token_id LIMIT ?"
	after := from.Value
	if from.Stage == sweep.Revoked {
		after = max(after, int64(m.Issued)) // those below were looked at as expired
	}
	args := append(slices.Clone(of), after, mark, limit)
	if column == "token_seen_at" {
		if table == slotsTable {
			in, of = in+" AND (token_seen_at > 0 OR token_id + 0 <= ?)", append(of, oldestAct(m.Now)) // by its own clock [Sweeps.Clear] decides
		}
		query = "SELECT id, token_id, token_seen_at AS value, CASE WHEN token_id + 0 > ?" + in + " THEN 1 ELSE 0 END AS is_over FROM " + table +
			" WHERE token_seen_at >= ? AND token_seen_at <= ? AND (token_seen_at > ? OR id > ?) ORDER BY token_seen_at, id LIMIT ?"
		args = append(append([]any{int64(max(m.Issued, m.Floor))}, of...), from.Value, mark, from.Value, int64(from.Row), limit)
	}
	rows, err := s.DB.gorm.WithContext(ctx).Raw(query, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	var list []entry
	for rows.Next() {
		e := entry{Login: sweep.Login{Further: table == slotsTable}}
		if err := rows.Scan(&e.Row, &e.Token, &e.Value, &e.over); err != nil {
			return nil, err
		}
		if !e.Further {
			e.User = e.Row
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// partOf is the condition that a login is in a part of a policy, if there is one.
func partOf(table string, p *policy.Part) (condition string, args []any) {
	if p == nil {
		return "", nil
	}
	is := func(what, one string, others []string) {
		switch {
		case one != "":
			condition += " AND " + what + " = ?"
			args = append(args, one)
		case len(others) > 0:
			condition += " AND " + what + " NOT IN (?" + strings.Repeat(", ?", len(others)-1) + ")"
			for _, o := range others {
				args = append(args, o)
			}
		}
	}
	is(classOf, p.Class, p.Classes)
	is(roleOf(table), p.Role, p.Roles)
	return condition, args
}

// roleOf is the role of the user who has the login of a row.
func roleOf(table string) string {
	if table == usersTable {
		return "role"
	}
	return "(SELECT users.role FROM users WHERE users.id = user_slots.user_id)"
}

func logins(rows *sql.Rows, table string) ([]sweep.Login, error) {
	defer func() { _ = rows.Close() }() // rows.Err has the error
	var list []sweep.Login
	for rows.Next() {
		var row, user, token, value int64
		if err := rows.Scan(&row, &user, &token, &value); err != nil {
			return nil, err
		}
		if table == usersTable {
			user = row
		}
		list = append(list, sweep.Login{Row: idworker.ID(row), Further: table == slotsTable, User: idworker.ID(user), Token: idworker.ID(token), Value: value})
	}
	return list, rows.Err()
}
