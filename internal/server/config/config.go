// Package config reads what an operator has set: environment over file over
// default.
//
// One table (settings.go) declares every setting: its name, default, meaning
// and parser. [Load], [Config.Dump] and docs/configuration.md come from that
// table, so none of them can have a setting that the others have not.
//
// A configuration is right as a whole or refused as a whole, and a refusal
// lists everything that is wrong with it, in sentences that say what to do.
// No sentence and no dump ever holds the value of a secret.
package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"text/tabwriter"
	"time"
)

// A Config holds the effective settings, parsed and checked. Only the command
// that wires the system together holds one; packages are given the two or
// three values that they need.
type Config struct {
	Listen    string // host:port of the API; port 0 picks a free one
	OpsListen string // host:port of health and metrics; port 0 picks a free one

	TLSCert        string // path of the certificate that the API shows, in PEM; empty means no TLS
	TLSKey         string // path of its key; empty if and only if TLSCert is
	H2C            bool   // the API speaks HTTP/2 without TLS too
	MaxConnections int    // to the API at the same time; one more closes the longest idle one, or waits if none is idle

	DataDir  string   // directory of everything that is kept in files; may not exist yet
	Database Database // where users and settings are kept
	Replicas []Secret // mysql URLs, checked, of copies of Database that the sweep waits for; empty means none
	Redis    Redis    // the zero Redis means none
	Worker   Worker   // how this process gets its worker number

	Registration    string        // RegistrationOpen or RegistrationClosed
	RevocationBound time.Duration // longest belief in a cached "alive"; 1s to 5m

	ServicePasswordLogin string // ServicePasswordsExisting, ServicePasswordsOn or ServicePasswordsOff

	Impersonation bool // admins may act for users

	IssueMethods []string // by which issuers may have authenticated a user; at least one

	Throttle bool // attempts are counted and bounded

	SecondFactor     string   // SecondFactorOptional or SecondFactorAdmins
	SecondFactorKeys []Secret // of 32 bytes each; the first encrypts; may be empty

	TrustedProxies []netip.Prefix // masked; empty means that no proxy is believed
	TokenHeader    string         // one more header that may hold a token, in canonical form; empty means none
	ForwardKey     Secret         // signs the answers to proxies; at least 32 bytes; empty means none

	PublicURL         string // where people reach the API and the console: a scheme and a host; empty means unknown
	BreachedPasswords string // path of a list of stolen passwords, empty means none

	ImportHookURL    string // asked about passwords of people who have none here: checked, https or this machine; empty means none
	ImportHookSecret Secret // signs these questions: 24 to 64 bytes; empty if and only if ImportHookURL is

	LogLevel  slog.Level // Debug, Info, Warn or Error
	LogFormat string     // LogText or LogJSON

	ShutdownTimeout time.Duration // for requests under way when the process is to stop; 1s to 10m
	HashWorkers     int           // passwords hashed at the same time; 1 to 1024
	HashProcess     bool          // by a process of their own
	CacheEntries    int           // most sessions held in memory
	DatabaseWait    time.Duration // for a database that takes writes, at the start; 0 means not at all
	ReplicaLag      time.Duration // how far behind a replica may be before the sweep waits; 1s to 10m
	AuditExpiry     bool          // an event for each login that the sweep clears
	AuditLogins     bool          // an event for each login and logout
	AuditRetention  time.Duration // how long events are kept; 0 means for ever
	DeleteRetention time.Duration // how long the row of a deleted user stays

	SelfDeletion      bool          // people may delete their own accounts
	SelfDeletionGrace time.Duration // how long they can come back

	origins map[string]origin // by file key; a missing key means default
}

// Values of [Config.Registration].
const (
	RegistrationOpen   = "open"   // every client may register
	RegistrationClosed = "closed" // only operators, issuers and the import hook add users
)

// Values of [Config.ServicePasswordLogin].
const (
	ServicePasswordsExisting = "existing" // services that are older than the deployment's first release with service keys
	ServicePasswordsOn       = "on"       // every service may log in with a password
	ServicePasswordsOff      = "off"      // none may
)

// Values of [Config.LogFormat].
const (
	LogText = "text"
	LogJSON = "json"
)

// Values of [Database.Kind].
const (
	SQLite = "sqlite"
	MySQL  = "mysql"
)

// A Database says where users are kept.
type Database struct {
	Kind string // SQLite or MySQL
	Path string // of the file, as the file system knows it (nothing is escaped); empty unless Kind is SQLite
	URL  Secret // mysql://user:password@host:port/name?params, checked; empty unless Kind is MySQL
}

// Values of [Worker.Kind].
const (
	WorkerFile      = "file"      // a lock file in the folder worker beside the SQLite file
	WorkerStatic    = "static"    // fixed by the operator
	WorkerSQL       = "sql"       // a row in the database
	WorkerRedis     = "redis"     // in the Redis that [Config.Redis] names
	WorkerZooKeeper = "zookeeper" // a node in ZooKeeper
)

// A Worker says how the process gets the worker number that goes into every
// ID it mints.
type Worker struct {
	Kind      string    // WorkerFile, WorkerStatic, WorkerSQL, WorkerRedis or WorkerZooKeeper
	Number    int       // 0 to 1023; 0 unless Kind is WorkerStatic
	ZooKeeper ZooKeeper // zero unless Kind is WorkerZooKeeper

	url Secret // of ZooKeeper, as it was written
}

// Dump writes the effective value of every setting and where it comes from:
// one a line, or as a JSON array of objects. What is secret in a value is
// replaced by "[hidden]". Its errors are those of w.
func (c Config) Dump(w io.Writer, asJSON bool) error {
	type line struct {
		Variable string `json:"variable"`
		Key      string `json:"key"`
		Value    string `json:"value"`
		Origin   string `json:"origin"`           // default, environment or file
		Detail   string `json:"detail,omitempty"` // the line of the file, or the variable that named a secret's file
	}
	var lines []line
	for _, s := range settings(&c) {
		o, ok := c.origins[s.key]
		if !ok {
			o.from = "default"
		}
		lines = append(lines, line{s.variable(), s.key, s.value.show(), o.from, o.detail})
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(lines); err != nil {
			return fmt.Errorf("config: dump: %w", err)
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "VARIABLE\tORIGIN\tVALUE")
	for _, l := range lines {
		if l.Detail != "" {
			l.Origin += " (" + l.Detail + ")"
		}
		if l.Value == "" {
			l.Value = "(none)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.Variable, l.Origin, l.Value)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("config: dump: %w", err)
	}
	return nil
}
