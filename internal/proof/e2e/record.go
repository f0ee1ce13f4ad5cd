package e2e

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Recorded are the events of an action, each as "target reason new", oldest
// first.
func Recorded(t testing.TB, db *sql.DB, action string) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT target, reason, new_value FROM audit_events WHERE action = ? ORDER BY id", action)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var target, reason string
		var value []byte
		if err := rows.Scan(&target, &reason, &value); err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprint(target, " ", reason, " ", string(value))))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// MustRecord fails the test unless there are events of that action that begin
// so, in any order, and no others.
func MustRecord(t *testing.T, db *sql.DB, action string, want ...string) {
	t.Helper()
	got := Recorded(t, db, action)
	ok := len(got) == len(want)
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || strings.HasPrefix(g, w)
		}
		ok = ok && found
	}
	if !ok {
		t.Errorf("%s is on record as\n  %s\nwant\n  %s", action, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// ResetText finds the code of a one-time link.
var ResetText = regexp.MustCompile(`fpr_[A-Z2-7]{26}[0-9a-f]{8}`)

// Files reads every file below dir.
func Files(t testing.TB, dir string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, b...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Scan writes every value of the rows, as text.
func Scan(t testing.TB, r *sql.Rows, to io.Writer) {
	t.Helper()
	defer r.Close()
	names, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
		values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(to, "%s\n", bytes.Join(rawBytes(values), []byte("|")))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
}

func rawBytes(values []sql.RawBytes) [][]byte {
	list := make([][]byte, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}
