package config

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// prefix begins the name of every environment variable that is ours.
const prefix = "FLAKEPASS_"

// shape is what the value of a setting may look like in a file.
type shape int

const (
	text   shape = iota
	number       // an integer
	list         // of texts, or one text with commas
	span         // a duration; a bare number is let through to be told that it lacks a unit
)

// A setting is one line of the table that everything here is driven by.
type setting struct {
	key    string // in the file; the variable is prefix + its upper case
	shape  shape
	secret bool // may also be read from a file that KEY_FILE names; its text is never shown
	empty  bool // the empty text is a value

	def    string        // the default, as an operator would write it
	derive func(*Config) // sets a default that depends on settings above; def describes it then, in Markdown

	doc   string // Markdown
	parse func(c *Config, v string) error
	show  func(c *Config) string // the effective value; what is secret in it is hidden
}

func (s setting) variable() string     { return prefix + strings.ToUpper(s.key) }
func (s setting) fileVariable() string { return s.variable() + "_FILE" }
func (s setting) fileKey() string      { return s.key + "_file" }

// settings is the table, in the order in which it is shown. A derived default
// may read what stands above it.
func settings() []setting {
	return append([]setting{
		{
			key: "listen", def: "127.0.0.1:8080",
			doc:   "`host:port` on which the API is served. An empty host means every interface; port 0 picks a free port and prints it.",
			parse: func(c *Config, v string) error { return parseListen(&c.Listen, v) },
			show:  func(c *Config) string { return c.Listen },
		}, {
			key: "ops_listen", def: "127.0.0.1:9090",
			doc:   "`host:port` on which health and metrics are served. Keep it off public networks.",
			parse: func(c *Config, v string) error { return parseListen(&c.OpsListen, v) },
			show:  func(c *Config) string { return c.OpsListen },
		}, {
			key: "tls_cert", empty: true,
			doc: "Path of a PEM file with the certificate that the API shows, and the chain that leads to it. With it the API speaks HTTPS only, " +
				"TLS 1.2 and 1.3. Empty: plain HTTP, for use behind a proxy that ends TLS. The file is read again when it changes.",
			parse: func(c *Config, v string) error { return parsePath(&c.TLSCert, v) },
			show:  func(c *Config) string { return c.TLSCert },
		}, {
			key: "tls_key", empty: true,
			doc:   "Path of the PEM file with the key of that certificate. The file is read again when it changes.",
			parse: func(c *Config, v string) error { return parsePath(&c.TLSKey, v) },
			show:  func(c *Config) string { return c.TLSKey },
		}, {
			key: "h2c", def: "off",
			doc:   "`on`: the API speaks HTTP/2 without TLS too, for proxies that do. `off`: HTTP/2 over TLS only.",
			parse: func(c *Config, v string) error { return parseSwitch(&c.H2C, v) },
			show:  func(c *Config) string { return showSwitch(c.H2C) },
		}, {
			key: "max_connections", shape: number, def: "10000",
			doc: "The most connections to the API at the same time, from 1 to 1000000. When there are as many, the one that has been idle for the longest time " +
				"is closed for a new one, which waits only while there is a request on each. One network (IPv4 /24, IPv6 /48) has at most half of them, unless the address is " +
				"in `FLAKEPASS_TRUSTED_PROXIES`. Each takes some 20 kB.",
			parse: func(c *Config, v string) error { return whole(&c.MaxConnections, v, 1, 1_000_000) },
			show:  func(c *Config) string { return strconv.Itoa(c.MaxConnections) },
		}, {
			key: "data_dir", def: "./flakepass-data",
			doc:   "Directory for everything that is kept in files: the SQLite database, and what is kept of the worker number. It is made if it is missing.",
			parse: func(c *Config, v string) error { c.DataDir = v; return nil },
			show:  func(c *Config) string { return c.DataDir },
		}, {
			key: "database", secret: true, def: "`sqlite:<data dir>/flakepass.db`",
			derive: func(c *Config) {
				c.Database = Database{Kind: SQLite, Path: filepath.Join(c.DataDir, "flakepass.db")}
			},
			doc:   "Where users are kept: `sqlite:<path>`, or `mysql://user:password@host:3306/name?params`. Characters such as `@ / # %` in a user or password are percent-encoded.",
			parse: func(c *Config, v string) error { return parseDatabase(&c.Database, v) },
			show:  func(c *Config) string { return c.Database.show() },
		}, {
			key: "replicas", secret: true, empty: true,
			doc: "Replicas of a MySQL database that the sweep does not run away from: URLs as in `FLAKEPASS_DATABASE`, with commas between them. " +
				"Nothing else is asked of them; the user needs `SELECT` on the table `sweep_state`. One that does not answer is not waited for. Empty: none.",
			parse: func(c *Config, v string) error { return parseReplicas(&c.Replicas, v) },
			show:  func(c *Config) string { return showReplicas(c.Replicas) },
		}, {
			key: "replica_lag", shape: span, def: "10s",
			doc: "How far behind one of `FLAKEPASS_REPLICAS` may be before the sweep waits for it, for a minute at most; then the pass ends, and the " +
				"next goes on. From 1s to 10m.",
			parse: func(c *Config, v string) error { return between(&c.ReplicaLag, v, time.Second, 10*time.Minute) },
			show:  func(c *Config) string { return showSpan(c.ReplicaLag) },
		}, {
			key: "redis", secret: true, empty: true,
			doc: "Cache that instances share; empty means none. `redis://[[user]:password@]host[:6379][/db]`; " +
				"`redis+sentinel://[[user]:password@]host[:26379],…/mastername[/db]`; `redis+cluster://[[user]:password@]host[:6379],…`. " +
				"With `rediss` in place of `redis` the connection uses TLS. If the sentinels themselves ask for a password, add " +
				"`?sentinel_password=…`, and `&sentinel_username=…` if they have users; characters such as `@ / # % &` are percent-encoded.",
			parse: func(c *Config, v string) error { return parseRedisSetting(&c.Redis, v) },
			show:  func(c *Config) string { return hideURL(c.Redis.Reveal()) },
		}, {
			key: "worker", secret: true, def: "`file` with SQLite, `sql` with MySQL",
			derive: func(c *Config) {
				c.Worker = Worker{Kind: WorkerFile}
				if c.Database.Kind == MySQL {
					c.Worker.Kind = WorkerSQL
				}
			},
			doc: "How an instance gets the worker number in its IDs: `file` (a lock in the data directory; with SQLite, for instances on one machine), " +
				"`sql` (a row in the database), `redis` (in the Redis of `FLAKEPASS_REDIS`), " +
				"`zookeeper://[user:password@]host[:2181],…/path[?key=…]` (a node below that path), " +
				"or `static:N` with a number from 0 to 1023 that no other instance has. " +
				"With a key, which names the instance, a start while ZooKeeper is down gets the number of before. " +
				"What each survives is in SECURITY.md.",
			parse: func(c *Config, v string) error { return parseWorker(&c.Worker, v) },
			show:  func(c *Config) string { return c.Worker.String() },
		}, {
			key: "registration", def: RegistrationOpen,
			doc: "`open`: anybody may register. `closed`: only operators add users.",
			parse: func(c *Config, v string) error {
				return oneOf(&c.Registration, v, RegistrationOpen, RegistrationClosed)
			},
			show: func(c *Config) string { return c.Registration },
		}, {
			key: "revocation_bound", shape: span, def: "5s",
			doc:   "After a logout, the longest that any instance may still accept the token, whatever fails. Also the longest that an instance goes on answering from memory while the database is away. From 1s to 5m.",
			parse: func(c *Config, v string) error { return between(&c.RevocationBound, v, time.Second, 5*time.Minute) },
			show:  func(c *Config) string { return showSpan(c.RevocationBound) },
		}, {
			key: "throttle", def: "on",
			doc: "`on`: logins, registrations and what services ask are limited, by the limits of the policy (docs/throttling.md). `off`: they are " +
				"not; only for tests of load, or behind something that limits them.",
			parse: func(c *Config, v string) error { return parseSwitch(&c.Throttle, v) },
			show:  func(c *Config) string { return showSwitch(c.Throttle) },
		}, {
			key: "public_url", empty: true,
			doc: "The URL at which people reach this server, such as `https://auth.example.org`, without a path. The links with which they set a password are made of it. " +
				"Empty: there are none; whoever starts a reset is told the token and the path, and the console makes the link in the operator's browser.",
			parse: func(c *Config, v string) error { return parsePublicURL(&c.PublicURL, v) },
			show:  func(c *Config) string { return c.PublicURL },
		}, {
			key: "breached_passwords", empty: true,
			doc: "Path of a list of stolen passwords, none of which may become anybody's: the SHA-1 list of Pwned Passwords, ordered by hash, unpacked, or another file " +
				"of that form. It is searched on the disk; [breached-passwords.md](breached-passwords.md) says how to get it. A file that takes its place by a rename is used " +
				"from then on. Empty: no list.",
			parse: func(c *Config, v string) error { return parsePath(&c.BreachedPasswords, v) },
			show:  func(c *Config) string { return c.BreachedPasswords },
		}, {
			key: "trusted_proxies", shape: list, empty: true,
			doc:   "Networks or addresses of the proxies whose `X-Forwarded-For` or `Forwarded` (RFC 7239) is believed: a list, or one text with commas. Empty: no proxy is believed, and behind one all clients share the limits of one address.",
			parse: func(c *Config, v string) error { return parseProxies(&c.TrustedProxies, v) },
			show:  func(c *Config) string { return showProxies(c.TrustedProxies) },
		}, {
			key: "token_header", empty: true,
			doc:   "One more header that may hold the token, for apps that cannot send `Authorization`, such as `X-Auth-Token`. Empty: none.",
			parse: func(c *Config, v string) error { return parseHeader(&c.TokenHeader, v) },
			show:  func(c *Config) string { return c.TokenHeader },
		}, {
			key: "forward_key", secret: true, empty: true,
			doc: "Signs the answers to `GET /v1/verify` (`X-Auth-Signature`), so that services behind a proxy can tell them from what a client made up: " +
				"at least 32 characters, the same as in the services (`flakepass.Forwarded`). `openssl rand -hex 32` makes one. Empty: nothing is signed.",
			parse: func(c *Config, v string) error { return parseForwardKey(&c.ForwardKey, v) },
			show:  func(c *Config) string { return c.ForwardKey.String() },
		}, {
			key: "log_level", def: "info",
			doc:   "The least serious records that are logged: `debug`, `info`, `warn` or `error`.",
			parse: func(c *Config, v string) error { return parseLevel(&c.LogLevel, v) },
			show:  func(c *Config) string { return strings.ToLower(c.LogLevel.String()) },
		}, {
			// A person starts flakepass first and reads its output; a machine
			// that collects logs is configured by somebody who reads this.
			key: "log_format", def: LogText,
			doc:   "`text` for people, `json` for collectors of logs.",
			parse: func(c *Config, v string) error { return oneOf(&c.LogFormat, v, LogText, LogJSON) },
			show:  func(c *Config) string { return c.LogFormat },
		}, {
			key: "shutdown_timeout", shape: span, def: "15s",
			doc:   "How long requests under way may take to finish once the process is told to stop. From 1s to 10m.",
			parse: func(c *Config, v string) error { return between(&c.ShutdownTimeout, v, time.Second, 10*time.Minute) },
			show:  func(c *Config) string { return showSpan(c.ShutdownTimeout) },
		}, {
			key: "hash_workers", shape: number, def: "0",
			doc: "How many passwords are hashed at the same time, from 1 to 1024; each takes a core and some memory. 0: as many as there are CPUs.",
			parse: func(c *Config, v string) error {
				err := whole(&c.HashWorkers, v, 0, 1024)
				if c.HashWorkers == 0 {
					c.HashWorkers = runtime.GOMAXPROCS(0) // what is in force, so that it can be shown
				}
				return err
			},
			show: func(c *Config) string { return strconv.Itoa(c.HashWorkers) },
		}, {
			key: "hash_process", def: "on",
			doc: "`on`: passwords are hashed by a process that the server starts beside itself, so that a flood of logins does not delay other requests; " +
				"it takes some 25 MB more. `off`: the server hashes them itself, a sixth more of them where there are two CPUs.",
			parse: func(c *Config, v string) error { return parseSwitch(&c.HashProcess, v) },
			show:  func(c *Config) string { return showSwitch(c.HashProcess) },
		}, {
			key: "cache_entries", shape: number, def: "100000",
			doc:   "The most sessions that an instance holds in memory, up to 100000000; about 500 bytes each. 0: nothing is cached, in memory or in Redis, and each request asks the database.",
			parse: func(c *Config, v string) error { return whole(&c.CacheEntries, v, 0, 100_000_000) },
			show:  func(c *Config) string { return strconv.Itoa(c.CacheEntries) },
		}, {
			key: "audit_expiry", def: "off",
			doc: "`on`: the record of what was done gets an event, `login.expired`, for each login that the sweep clears: as many rows as there are " +
				"logins that nobody ends. `off`: none.",
			parse: func(c *Config, v string) error { return parseSwitch(&c.AuditExpiry, v) },
			show:  func(c *Config) string { return showSwitch(c.AuditExpiry) },
		}, {
			key: "audit_logins", def: "on",
			doc: "`on`: the record of what was done gets an event for each login and each logout, in the transaction that makes it: a row of some " +
				"200 bytes each. `off`: none, for a database that cannot afford that. Failed logins and everything else are recorded either way.",
			parse: func(c *Config, v string) error { return parseSwitch(&c.AuditLogins, v) },
			show:  func(c *Config) string { return showSwitch(c.AuditLogins) },
		}, {
			key: "audit_retention", shape: span, def: "9600h",
			doc: "How long the record of what was done is kept, from 24h to 87600h; 9600h are 400 days. What is older is deleted after each sweep, " +
				"in small batches. 0h: it is kept for ever.",
			parse: func(c *Config, v string) error { return parseRetention(&c.AuditRetention, v) },
			show:  func(c *Config) string { return showSpan(c.AuditRetention) },
		},
	}, secondFactorSettings()...)
}
