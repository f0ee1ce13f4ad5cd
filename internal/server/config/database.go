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

func parseDatabase(v string) (Database, error) {
	scheme, rest, ok := strings.Cut(v, ":")
	switch {
	case strings.Contains(v, "@tcp(") || strings.Contains(v, "@unix("):
		return Database{}, errors.New("this is the notation of the Go driver; write mysql://user:password@host:3306/name instead")
	case ok && scheme == SQLite:
		return parseSQLite(rest)
	case ok && scheme == MySQL && strings.HasPrefix(rest, "//"):
		return parseMySQL(v)
	case ok && scheme == MySQL:
		return Database{}, errors.New("two slashes are missing after mysql:; write mysql://user:password@host:3306/name")
	case ok && slices.Contains(otherDatabases, scheme):
		if scheme == "mariadb" || scheme == "tidb" {
			return Database{}, errors.New(scheme + " is reached by a mysql URL; write mysql://user:password@host:3306/name")
		}
		return Database{}, errors.New(scheme + " is not supported; " + databaseForms)
	default:
		return Database{}, errors.New("this does not begin with the kind of a database; " + databaseForms)
	}
}

func parseSQLite(path string) (Database, error) {
	switch {
	case path == "":
		return Database{}, errors.New("the path of the database file is missing; write for example sqlite:/var/lib/flakepass/flakepass.db")
	case strings.HasPrefix(path, "//"):
		return Database{}, errors.New("sqlite takes a path and no slashes before it; write sqlite:/var/lib/flakepass/flakepass.db or sqlite:./flakepass.db")
	case strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:"):
		return Database{}, errors.New("sqlite takes the path of a file, and a database in memory would forget every user; write for example sqlite:./flakepass.db")
	case strings.Contains(path, "?"):
		return Database{}, errors.New("sqlite takes a path and no parameters; remove the ? and what follows, flakepass sets them itself")
	case strings.HasSuffix(path, "/"):
		return Database{}, errors.New("the path of the database ends in a slash, so it is a directory; add a file name such as flakepass.db")
	}
	return Database{Kind: SQLite, Path: path}, nil
}

// databaseName is what needs no quoting in MySQL, plus the hyphen; names are
// at most 64 characters long.
var databaseName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z$_-]{1,64}$`) })

func parseMySQL(v string) (Database, error) {
	p, err := takeApart(v)
	if err != nil {
		return Database{}, err
	}
	if len(p.hosts) > 1 {
		return Database{}, errors.New("the URL names several hosts; name one, such as the address of the cluster's router")
	}
	if _, err := p.addresses("3306"); err != nil {
		return Database{}, err
	}
	if p.userRaw == "" {
		return Database{}, errors.New("the user is missing from the URL; write mysql://user:password@host:3306/name")
	}
	switch {
	case p.path == "":
		return Database{}, errors.New("the name of the database is missing from the URL; write mysql://user:password@host:3306/name")
	case !databaseName().MatchString(p.path):
		return Database{}, errors.New("the name of the database after the host may hold letters, digits, $, _ and - only, at most 64; if part of a password ended up there, write its / as %2F")
	}
	if err := checkParams(p.query); err != nil {
		return Database{}, err
	}
	if _, err := url.Parse(v); err != nil { // the driver may use net/url
		return Database{}, errEncoding
	}
	return Database{Kind: MySQL, URL: NewSecret(v)}, nil
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
func parseReplicas(v string) ([]Secret, error) {
	var list []Secret
	for i, text := range strings.Split(v, ",") {
		d, err := parseDatabase(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("replica %d: %w", i+1, err)
		}
		if d.Kind != MySQL {
			return nil, fmt.Errorf("replica %d: only MySQL has replicas; write mysql://user:password@host:3306/name", i+1)
		}
		list = append(list, d.URL)
	}
	return list, nil
}

func showReplicas(list []Secret) string {
	shown := make([]string, len(list))
	for i, u := range list {
		shown[i] = showURL(u)
	}
	return strings.Join(shown, ", ")
}
