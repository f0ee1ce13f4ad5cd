package config

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// prefix begins the name of every environment variable that is ours.
const prefix = "FLAKEPASS_"

// A setting is one line of the table that everything here is driven by.
type setting struct {
	key    string // in the file; the variable is prefix + its upper case
	value  value  // where it goes, and how it is written
	secret bool   // may also be read from a file that KEY_FILE names; its text is never shown
	empty  bool   // the empty text is a value

	def    string // the default, as an operator would write it
	derive func() // sets a default that depends on settings above; def describes it then, in Markdown
	doc    string // Markdown
}

func (s setting) variable() string     { return prefix + strings.ToUpper(s.key) }
func (s setting) fileVariable() string { return s.variable() + "_FILE" }
func (s setting) fileKey() string      { return s.key + "_file" }

// settings is the table of what goes into c, in the order in which it is shown. A
// derived default may read what stands above it.
func settings(c *Config) []setting {
	return []setting{
		{
			key: "listen", def: "127.0.0.1:8080", value: plain(&c.Listen, parseListen),
			doc: "`host:port` on which the API is served. An empty host means every interface; port 0 picks a free port and prints it.",
		}, {
			key: "ops_listen", def: "127.0.0.1:9090", value: plain(&c.OpsListen, parseListen),
			doc: "`host:port` on which health and metrics are served. Keep it off public networks.",
		}, {
			key: "tls_cert", empty: true, value: plain(&c.TLSCert, parsePath),
			doc: "Path of a PEM file with the certificate of the API and its chain. With it the API serves HTTPS only, TLS 1.2 and " +
				"1.3. Empty: plain HTTP, for use behind a proxy that terminates TLS. The file is read again when it changes. " +
				"A certificate that has ended, or is not valid yet, is refused. `/readyz` and the log warn of one that has less than a tenth of its time left.",
		}, {
			key: "tls_key", empty: true, value: plain(&c.TLSKey, parsePath),
			doc: "Path of the PEM file with the key of that certificate. The file is read again when it changes.",
		}, {
			key: "h2c", def: "off", value: onOff(&c.H2C),
			doc: "`on`: the API also serves HTTP/2 without TLS, for proxies that use it. `off`: HTTP/2 over TLS only.",
		}, {
			key: "max_connections", def: "10000", value: number(&c.MaxConnections, 1, 1_000_000),
			doc: "The maximum of simultaneous connections to the API, from 1 to 1000000. At the maximum, the " +
				"longest idle connection is closed for a new one, which waits only while each has a request. One network (IPv4 /24, IPv6 /48) has at most half of them, unless the address is " +
				"in `FLAKEPASS_TRUSTED_PROXIES`. Each takes some 20 kB. Where the process may open fewer files than this and 256 more (`ulimit -n`), it takes fewer connections, and the log says how many.",
		}, {
			key: "data_dir", def: "./flakepass-data", value: plain(&c.DataDir, func(v string) (string, error) { return v, nil }),
			doc: "Directory for the files of an instance, among them the SQLite database unless `FLAKEPASS_DATABASE` names another place. It is created if it is missing.",
		}, {
			key: "database", secret: true, def: "`sqlite:<data dir>/flakepass.db`", value: as(&c.Database, parseDatabase, Database.String),
			derive: func() {
				c.Database = Database{Kind: SQLite, Path: filepath.Join(c.DataDir, "flakepass.db")}
			},
			doc: "The database of the users: `sqlite:<path>`, or `mysql://user:password@host:3306/name?params`. Characters such as `@ / # %` in a user or password are percent-encoded. " +
				"The parameters are `tls` (`true` or `false`), `timeout`, `readTimeout` and `writeTimeout` (such as `5s`), `compress`, `connectionAttributes`, and `allowCleartextPasswords` with `tls=true`. Every other one is refused. " +
				"With `tls=true` the server needs a certificate that the system trusts, or one of the file that `SSL_CERT_FILE` names.",
		}, {
			key: "database_wait", def: "1m", value: span(&c.DatabaseWait, 0, 24*time.Hour),
			doc: "How long `flakepass serve` waits at its start while no MySQL server that takes writes can be reached: it is down, read-only or not part of a cluster. " +
				"From 0s to 24h; with 0s it fails at once. A refused user, an unknown database or a wrong certificate always fails at once, and so do the other commands.",
		}, {
			key: "replicas", secret: true, empty: true, value: as(&c.Replicas, parseReplicas, showReplicas),
			doc: "Replicas of a MySQL database that the sweep waits for: URLs as in `FLAKEPASS_DATABASE`, " +
				"separated by commas. They are used for nothing else; the user needs `SELECT` on the table " +
				"`polls`. The sweep does not wait for a replica that does not answer. Empty: none.",
		}, {
			key: "replica_lag", def: "10s", value: span(&c.ReplicaLag, time.Second, 10*time.Minute),
			doc: "How far behind one of `FLAKEPASS_REPLICAS` may be before the sweep waits for it, for a minute at most; then the pass ends, and the next one continues. What it lacks of before the pass counts, too. It may be a second more. From 1s to 10m.",
		}, {
			key: "redis", secret: true, empty: true, value: as(&c.Redis, ParseRedis, Redis.String),
			doc: "Cache that instances share; empty means none. `redis://[[user]:password@]host[:6379][/db]`; " +
				"`redis+sentinel://[[user]:password@]host[:26379],…/mastername[/db]`; `redis+cluster://[[user]:password@]host[:6379],…`. " +
				"With `rediss` instead of `redis` the connection uses TLS. If the sentinels require a password, add " +
				"`?sentinel_password=…`, and `&sentinel_username=…` if they have users; characters such as `@ / # % &` are percent-encoded.",
		}, {
			key: "worker", secret: true, def: "`file` with SQLite, `sql` with MySQL", value: as(&c.Worker, parseWorker, Worker.String),
			derive: func() {
				c.Worker = Worker{Kind: WorkerFile}
				if c.Database.Kind == MySQL {
					c.Worker.Kind = WorkerSQL
				}
			},
			doc: "How an instance gets the worker number in its IDs: `file` (a lock in the folder `worker` beside the SQLite database, for instances on one machine), " +
				"`sql` (a row in the database), `redis` (in the Redis of `FLAKEPASS_REDIS`), " +
				"`zookeeper://[user:password@]host[:2181],…/path[?key=…]` (a node below that path), " +
				"or `static:N` with a number from 0 to 1023 that no other instance has. " +
				"With a key, which names the instance, an instance can start with its previous number while " +
				"ZooKeeper is down. SECURITY.md lists the failures of each.",
		}, {
			key: "registration", def: RegistrationOpen, value: choice(&c.Registration, RegistrationOpen, RegistrationClosed),
			doc: "`open`: registration is public. `closed`: only operators, issuers and the import hook add users.",
		}, {
			key: "service_password_login", def: ServicePasswordsExisting,
			value: choice(&c.ServicePasswordLogin, ServicePasswordsExisting, ServicePasswordsOn, ServicePasswordsOff),
			doc: "Which accounts of the role `service` may log in with a password; service keys replace such logins ([clients.md](clients.md#service-keys)). " +
				"`existing`: those that are older than the first start of a release with service keys. `on`: all. `off`: none. A login that lives goes on in each case.",
		}, {
			key: "impersonation", def: "off", value: onOff(&c.Impersonation),
			doc: "`on`: an admin may act for a user, for an hour at most, with a reason, and changes nothing ([impersonation.md](impersonation.md)). `off`: nobody may. A session that was begun before goes on until it is over.",
		}, {
			key: "issue_methods", def: "sms,email,wechat,alipay,oidc:apple,oidc:google,oidc:microsoft,sso",
			value: as(&c.IssueMethods, parseMethods, func(all []string) string { return strings.Join(all, ",") }).orAs(isList, aList),
			doc: "The methods by which a service with the scope `issue` may say that it has authenticated a user ([issuers.md](issuers.md)): a list, or one text with commas. " +
				"Each has 1 to 64 lower-case letters, digits and `. _ : -`. They are kept with the logins, and shown in lists, in the audit record and in introspection as `amr` (RFC 8176). `pwd` is the method of a password, and not allowed.",
		}, {
			key: "revocation_bound", def: "5s", value: span(&c.RevocationBound, time.Second, 5*time.Minute),
			doc: "The maximum time for which an instance may accept a token after its logout, whatever fails. Also the maximum time for which an instance answers from memory while the database is unreachable. The same on all instances, and for commands: a logout is acknowledged with the bound of who does it. From 1s to 5m.",
		}, {
			key: "throttle", def: "on", value: onOff(&c.Throttle),
			doc: "`on`: logins, registrations and requests of services are limited by the policy " +
				"(docs/throttling.md). `off`: they are not; only for load tests, or behind another rate limiter.",
		}, {
			key: "public_url", empty: true, value: plain(&c.PublicURL, parsePublicURL),
			doc: "The URL at which people reach this server, such as `https://auth.example.org`, without a path. One-time links to set a password begin with it. Empty: there are no links. The start of a reset " +
				"returns the token and the path, and the console makes the link in the operator's browser.",
		}, {
			key: "breached_passwords", empty: true, value: plain(&c.BreachedPasswords, parsePath),
			doc: "Path of a list of stolen passwords, which are refused as new passwords: the SHA-1 list of Pwned Passwords, ordered by hash, unpacked, or another file " +
				"of that form. It is searched on the disk; [breached-passwords.md](breached-passwords.md) says how to get it. A file that replaces it by a rename is used from then on. Empty: no list.",
		}, {
			key: "import_hook_url", empty: true, value: plain(&c.ImportHookURL, parseHookURL),
			doc: "Asked at a login whether a password is right, for a name that has no account here or no password yet; a right one becomes a password here ([moving.md](moving.md#move-people-as-they-log-in)). " +
				"An `https` URL, or `http` on `localhost`, `127.0.0.1` or `[::1]`; without a user, a query and a fragment. Empty: nobody is asked.",
		}, {
			key: "import_hook_secret", secret: true, empty: true, value: as(&c.ImportHookSecret, parseHookSecret, Secret.String),
			doc: "Signs these requests, as Standard Webhooks say: 24 to 64 bytes in base64, with or without `whsec_` in front. `echo \"whsec_$(openssl rand -base64 32)\"` makes one. Set both, or neither.",
		}, {
			key: "trusted_proxies", empty: true,
			doc:   "Networks or addresses of the proxies whose `X-Forwarded-For` or `Forwarded` (RFC 7239) is accepted: a list, or one text with commas. Empty: no proxy is trusted, and all clients behind one share the limits of its address.",
			value: as(&c.TrustedProxies, parseProxies, showProxies).orAs(isList, aList),
		}, {
			key: "token_header", empty: true, value: plain(&c.TokenHeader, parseHeader),
			doc: "One more header that may have the token, for apps that cannot send `Authorization`, such as `X-Auth-Token`. Empty: none.",
		}, {
			key: "forward_key", secret: true, empty: true, value: as(&c.ForwardKey, parseForwardKey, Secret.String),
			doc: "Signs the answers to `GET /v1/verify` (`X-Auth-Signature`), so that services behind a proxy can detect forged ones: at least 32 characters, the same as in the services (`flakepass.Forwarded`). `openssl rand -hex 32` makes one. Empty: nothing is signed.",
		}, {
			key: "log_level", def: "info", value: as(&c.LogLevel, parseLevel, showLevel),
			doc: "The lowest level that is logged: `debug`, `info`, `warn` or `error`.",
		}, {
			// A person starts flakepass first and reads its output; a machine
			// that collects logs is configured by an operator who reads this.
			key: "log_format", def: LogText, value: choice(&c.LogFormat, LogText, LogJSON),
			doc: "`text` for people, `json` for log collection.",
		}, {
			key: "shutdown_timeout", def: "15s", value: span(&c.ShutdownTimeout, time.Second, 10*time.Minute),
			doc: "How long requests under way may take to finish after a stop signal. From 1s to 10m.",
		}, {
			key: "hash_workers", def: "0", value: as(&c.HashWorkers, parseHashWorkers, strconv.Itoa).orAs(isNumber, aNumber),
			doc: "The number of passwords that are hashed at the same time, from 1 to 1024; each takes a core and some memory. 0: the number of CPUs.",
		}, {
			key: "hash_process", def: "on", value: onOff(&c.HashProcess),
			doc: "`on`: a separate process, which the server starts, hashes passwords, so that a flood of logins " +
				"does not delay other requests; it takes some 25 MB more. `off`: the server hashes them itself, " +
				"a sixth more of them with two CPUs.",
		}, {
			key: "cache_entries", def: "100000", value: number(&c.CacheEntries, 0, 100_000_000),
			doc: "The maximum of sessions in the memory of an instance, up to 100000000; about 220 bytes of the heap each. 0: nothing is cached, in memory or in Redis, and each request asks the database.",
		}, {
			key: "audit_expiry", def: "off", value: onOff(&c.AuditExpiry),
			doc: "`on`: each login that the sweep clears, or that a lower number of sessions ends, gets an audit event, `login.expired`: one row for each " +
				"login that ends by the policy. `off`: none.",
		}, {
			key: "audit_logins", def: "on", value: onOff(&c.AuditLogins),
			doc: "`on`: each login and each logout gets an audit event, in its transaction: a row of some 200 " +
				"bytes. `off`: none, for a database with too little space. Failed logins and all other events " +
				"are written either way.",
		}, {
			key: "audit_retention", def: "9600h", value: as(&c.AuditRetention, parseRetention, showSpan).orAs(isNumber, aSpan),
			doc: "How long audit events are kept, from 24h to 87600h; 9600h are 400 days. Older ones are deleted " +
				"after each sweep, in small batches. 0h: they are kept forever.",
		}, {
			key: "delete_retention", def: "720h", value: span(&c.DeleteRetention, 24*time.Hour, 3650*24*time.Hour),
			doc: "How long the row of a deleted user stays before it is purged, from 24h to 87600h; 720h are 30 days. Until then the name and the external ID are taken. " +
				"[deletion.md](deletion.md) says why not less.",
		}, {
			key: "self_deletion", def: "off", value: onOff(&c.SelfDeletion),
			doc: "`on`: people may delete their own accounts (`DELETE /v1/me`). `off`: only operators delete accounts.",
		}, {
			key: "self_deletion_grace", def: "336h", value: span(&c.SelfDeletionGrace, time.Hour, 365*24*time.Hour),
			doc: "How long after that people can come back, by a login, from 1h to 8760h; 336h are 14 days. Then the account is deleted.",
		}, {
			key: "second_factor", def: SecondFactorOptional, value: choice(&c.SecondFactor, SecondFactorOptional, SecondFactorAdmins),
			doc: "`optional`: each user may add a second factor (codes of an authenticator app). `admins`: an admin without one has the own account, to add one, and no rights of an admin.",
		}, {
			key: "second_factor_key", secret: true, empty: true, value: as(&c.SecondFactorKeys, parseSecondFactorKeys, showKeys),
			doc: "Encrypts the secrets of second factors in the database: 32 bytes in hexadecimal or base64, the same on all instances. `openssl rand -hex 32` makes one. " +
				"Several, with commas: the first encrypts and all decrypt. Put a new one in front, and keep the old one until `flakepass user second-factor rekey` has been run. " +
				"Empty: with SQLite a key is generated in the file `second-factor.key` beside the database; with MySQL no second factor can be added.",
		},
	}
}
