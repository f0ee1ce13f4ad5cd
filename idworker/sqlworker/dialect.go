package sqlworker

import "fmt"

// A Dialect is the kind of SQL that a database speaks. The zero Dialect is
// none, so that a forgotten one is an error.
type Dialect int

// The dialects. MariaDB speaks MySQL's.
const (
	MySQL Dialect = iota + 1
	SQLite
)

// words are the pieces of SQL in which the dialects differ.
type words struct {
	now    string // the database's clock, in Unix milliseconds
	insert string // insert, and change nothing if the key is there already
}

func (d Dialect) words() (words, error) {
	switch d {
	case MySQL:
		return words{now: "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)", insert: "INSERT IGNORE"}, nil
	case SQLite:
		return words{now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)", insert: "INSERT OR IGNORE"}, nil
	}
	return words{}, fmt.Errorf("unknown dialect %d", d)
}
