package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
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

// Parameters of a MySQL URL. The driver takes more, and sends what it does not know to the
// server, as a variable of each session: flakepass sets those that its statements
// depend on itself, and any other may change what they mean.
var mysqlParams = []struct {
	name  string
	check func(text string) string // says what the text has to be; empty if it is
}{
	{"tls", trueOrFalse},
	{"timeout", lasts(100 * time.Millisecond)},
	{"readTimeout", lasts(3 * time.Second)}, // longer than the server waits for a row: it is the server that gives up
	{"writeTimeout", lasts(100 * time.Millisecond)},
	{"compress", trueOrFalse},
	{"connectionAttributes", func(string) string { return "" }},
	{"allowCleartextPasswords", trueOrFalse},
}

// trueOrFalse is strict for tls above all: a server that is not checked may be an
// attacker's, and gets the password.
func trueOrFalse(text string) string {
	if text == "true" || text == "false" {
		return ""
	}
	return "true or false"
}

func lasts(least time.Duration) func(string) string {
	const most = time.Minute
	return func(text string) string {
		if d, err := time.ParseDuration(text); err == nil && d >= least && d <= most {
			return ""
		}
		return fmt.Sprintf("a duration from %s to %s, such as 5s", showSpan(least), showSpan(most))
	}
}

// variableName is what the name of a parameter or a variable looks like. Anything else in its
// place may be part of a password, and is not shown.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z_]{1,63}$`) })

// checkParams reports everything that is wrong with the parameters, without their values.
// It takes them as they are written, as the driver does.
func checkParams(query string) error {
	if _, err := url.ParseQuery(query); err != nil {
		return errors.New("the part of the URL after ? is malformed; write name=value, joined by &, and percent-encode what is special")
	}
	names := make([]string, len(mysqlParams))
	for i, p := range mysqlParams {
		names[i] = p.name
	}
	given, unknown := map[string]string{}, false
	var wrong []string
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		if _, twice := given[name]; name == "" || twice {
			return errors.New("a parameter after ? in the URL has no name or is given twice; write each name=value once")
		}
		given[name] = text
		if i := slices.Index(names, name); i >= 0 {
			if want := mysqlParams[i].check(text); want != "" {
				wrong = append(wrong, name+" in the URL must be "+want)
			}
			continue
		}
		unknown = true
		if text == "" || !variableName().MatchString(name) {
			name = "a parameter after ?"
		}
		wrong = append(wrong, name+" in the URL is none that flakepass takes; remove it")
	}
	if given["allowCleartextPasswords"] == "true" && given["tls"] != "true" {
		wrong = append(wrong, "allowCleartextPasswords in the URL needs tls=true, or the password is sent unprotected")
	}
	if unknown {
		wrong = append(wrong, "flakepass takes "+strings.Join(names, ", "))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
