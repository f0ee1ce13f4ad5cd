package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const databaseForms = "supported are sqlite:<path> and mysql://user:password@host:3306/name"

// otherDatabases are named in the error for one of them; any other scheme might be
// the beginning of a password.
var otherDatabases = []string{"postgres", "postgresql", "mariadb", "mssql", "sqlserver", "oracle", "mongodb", "cockroachdb", "file", "tidb"}

func parseDatabase(dst *Database, v string) error {
	scheme, rest, ok := strings.Cut(v, ":")
	switch {
	case strings.Contains(v, "@tcp(") || strings.Contains(v, "@unix("):
		return errors.New("this is the notation of the Go driver; write mysql://user:password@host:3306/name instead")
	case ok && scheme == SQLite:
		return parseSQLite(dst, rest)
	case ok && scheme == MySQL && strings.HasPrefix(rest, "//"):
		return parseMySQL(dst, v)
	case ok && scheme == MySQL:
		return errors.New("two slashes are missing after mysql:; write mysql://user:password@host:3306/name")
	case ok && slices.Contains(otherDatabases, scheme):
		if scheme == "mariadb" || scheme == "tidb" {
			return errors.New(scheme + " is reached by a mysql URL; write mysql://user:password@host:3306/name")
		}
		return errors.New(scheme + " is not supported; " + databaseForms)
	default:
		return errors.New("this does not begin with the kind of a database; " + databaseForms)
	}
}

func parseSQLite(dst *Database, path string) error {
	switch {
	case path == "":
		return errors.New("the path of the database file is missing; write for example sqlite:/var/lib/flakepass/flakepass.db")
	case strings.HasPrefix(path, "//"):
		return errors.New("sqlite takes a path and no slashes before it; write sqlite:/var/lib/flakepass/flakepass.db or sqlite:./flakepass.db")
	case strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:"):
		return errors.New("sqlite takes the path of a file, and a database in memory would forget every user; write for example sqlite:./flakepass.db")
	case strings.Contains(path, "?"):
		return errors.New("sqlite takes a path and no parameters; remove the ? and what follows, flakepass sets them itself")
	case strings.HasSuffix(path, "/"):
		return errors.New("the path of the database ends in a slash, so it is a directory; add a file name such as flakepass.db")
	}
	*dst = Database{Kind: SQLite, Path: path}
	return nil
}

// databaseName is what needs no quoting in MySQL, plus the hyphen; names are
// at most 64 characters long.
var databaseName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z$_-]{1,64}$`) })

func parseMySQL(dst *Database, v string) error {
	p, err := takeApart(v)
	if err != nil {
		return err
	}
	if len(p.hosts) > 1 {
		return errors.New("the URL names several hosts; name one, such as the address of the cluster's router")
	}
	if _, err := p.addresses("3306"); err != nil {
		return err
	}
	if p.userRaw == "" {
		return errors.New("the user is missing from the URL; write mysql://user:password@host:3306/name")
	}
	switch {
	case p.path == "":
		return errors.New("the name of the database is missing from the URL; write mysql://user:password@host:3306/name")
	case !databaseName().MatchString(p.path):
		return errors.New("the name of the database after the host may hold letters, digits, $, _ and - only, at most 64; if part of a password ended up there, write its / as %2F")
	}
	if err := checkParams(p.query); err != nil {
		return err
	}
	if _, err := url.Parse(v); err != nil { // the driver may use net/url
		return errEncoding
	}
	*dst = Database{Kind: MySQL, URL: NewSecret(v)}
	return nil
}

// String is the database as an operator writes it, without its password.
func (d Database) String() string {
	if d.Kind == SQLite {
		return SQLite + ":" + d.Path
	}
	return showURL(d.URL)
}

// parseReplicas takes a list of MySQL URLs apart. In a URL a comma is written
// %2C.
func parseReplicas(dst *[]Secret, v string) error {
	var list []Secret
	if v == "" {
		return nil
	}
	for i, text := range strings.Split(v, ",") {
		var d Database
		if err := parseDatabase(&d, strings.TrimSpace(text)); err != nil {
			return fmt.Errorf("replica %d: %w", i+1, err)
		}
		if d.Kind != MySQL {
			return fmt.Errorf("replica %d: only MySQL has replicas; write mysql://user:password@host:3306/name", i+1)
		}
		list = append(list, d.URL)
	}
	*dst = list
	return nil
}

func showReplicas(list []Secret) string {
	shown := make([]string, len(list))
	for i, u := range list {
		shown[i] = showURL(u)
	}
	return strings.Join(shown, ", ")
}
