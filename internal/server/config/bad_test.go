package config_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

// Each value is refused with exactly one problem, whose sentence holds the
// words beside it.
func TestBadValues(t *testing.T) {
	for _, tt := range []struct{ key, value, want string }{
		{"listen", "", "the value is empty; give one, or remove the setting to get the default (127.0.0.1:8080)"},
		{"listen", "8080", `"8080" is not host:port; write for example 127.0.0.1:8080`},
		{"listen", "::1:8080", "is not host:port"},
		{"listen", "a b:1", "neither an IP address nor a host name"},
		{"listen", "127.0.0:1", "neither an IP address nor a host name"},
		{"listen", "h:65536", "must be a number from 0 to 65535"},
		{"listen", "h:http", "must be a number from 0 to 65535"},
		{"listen", "h:", "must be a number from 0 to 65535"},
		{"listen", " h:1", "begins or ends with a space"},
		{"listen", "h:1\n", "line break or another control character"},
		{"listen", "h\xff:1", "not UTF-8"},
		{"listen", "mysql://app:planted@db/x", "the value is not host:port"},
		{"ops_listen", "127.0.0.1:8080", "this is the address of FLAKEPASS_LISTEN too"},
		{"data_dir", "", "the value is empty"},
		{"database", "", "the default (sqlite:<data dir>/flakepass.db)"},
		{"database", "flakepass.db", "does not begin with the kind of a database; supported are sqlite:<path> and mysql://"},
		{"database", "planted:x", "does not begin with the kind of a database"},
		{"database", "postgres://app:planted@db/x", "postgres is not supported; supported are"},
		{"database", "mariadb://app:planted@db/x", "mariadb is reached by a mysql URL"},
		{"database", "app:planted@tcp(db:3306)/x", "the notation of the Go driver; write mysql://"},
		{"database", "sqlite:", "the path of the database file is missing"},
		{"database", "sqlite:///var/x.db", "no slashes before it"},
		{"database", "sqlite::memory:", "would forget every user"},
		{"database", "sqlite:x.db?mode=rw", "no parameters"},
		{"database", "sqlite:/var/lib/", "add a file name"},
		{"database", "mysql:app:planted@db/x", "two slashes are missing"},
		{"database", "mysql://app:planted@/x", "names no host"},
		{"database", "mysql:///x", "names no host"},
		{"database", "mysql://db/x", "the user is missing"},
		{"database", "mysql://:planted@db/x", "the user is missing"},
		{"database", "mysql://app:planted@db", "the name of the database is missing"},
		{"database", "mysql://app:planted@db/", "the name of the database is missing"},
		{"database", "mysql://app:planted@db/a/b", "may hold letters, digits"},
		{"database", "mysql://app:planted@db:0/x", "port must be a number from 1 to 65535"},
		{"database", "mysql://app:planted@db:x/x", "port must be a number from 1 to 65535"},
		{"database", "mysql://app:planted@a,b/x", "names several hosts"},
		{"database", "mysql://app:planted@d b/x", "neither an IP address nor a host name"},
		{"database", "mysql://app:planted@::1/x", "IPv6 addresses go in brackets"},
		{"database", "mysql://app:planted@[db]/x", "IPv6 addresses go in brackets"},
		{"database", "mysql://app:pl#anted@db/x", "write %23"},
		{"database", "mysql://app:12/planted@db/x", "write @ as %40"},
		{"database", "mysql://app:12?planted@db/x", "write @ as %40"},
		{"database", "mysql://app:%planted@db/x", "write @ as %40"},
		{"database", "mysql://app:pla nted@db/x", "write @ as %40"},
		{"database", "mysql://app:planted@db/x?tls=skip-verify", "tls in the URL must be true or false"},
		{"database", "mysql://app:planted@db/x?tls=", "tls in the URL must be true or false"},
		{"database", "mysql://app:planted@db/x?allowFallbackToPlaintext=true", "allowFallbackToPlaintext in the URL is none that flakepass takes"},
		{"database", "mysql://app:planted@db/x?a=%zz", "after ? is malformed"},
		{"database", "mysql://app:planted@db/x?a=1&a=2", "is given twice"},
		{"database", "mysql://app:planted@db/x?timeout=5", "timeout in the URL must be a duration from 100ms to 1m"},
		{"database", "mysql://app:planted@db/x?readTimeout=1s", "readTimeout in the URL must be a duration from 3s to 1m"},
		{"database", "mysql://app:planted@db/x?writeTimeout=%35s", "writeTimeout in the URL must be a duration"},
		{"database", "mysql://app:planted@db/x?timeout=1h", "timeout in the URL must be a duration"},
		{"database", "mysql://app:planted@db/x?timeout=1d", "timeout in the URL must be a duration"},
		{"database", "mysql://app:planted@db/x?compress=planted", "compress in the URL must be true or false"},
		{"database", "mysql://app:planted@db/x?allowCleartextPasswords=true", "allowCleartextPasswords in the URL needs tls=true"},
		{"database", "mysql://app:planted@db/x?max_execution_time=1&timeout=5s", "max_execution_time in the URL is none that flakepass takes; remove it"},
		{"database", "mysql://app:planted@db/x?sql_select_limit=planted", "sql_select_limit in the URL is none that flakepass takes"},
		{"database", "mysql://app:planted@db/x?SQL_MODE=%27%27", "SQL_MODE in the URL is none that flakepass takes"},
		{"database", "mysql://app:planted@db/x?autocommit=0", "autocommit in the URL is none that flakepass takes"},
		{"database", "mysql://app:planted@db/x?transaction_isolation=%27SERIALIZABLE%27", "transaction_isolation in the URL is none that flakepass takes"},
		{"database", "mysql://app:planted@db/x?time_zone=%27%2B05:00%27", "time_zone in the URL is none that flakepass takes"},
		{"database", "mysql://app:planted@db/x?parseTime=false", "parseTime in the URL is none that flakepass takes"},
		{"database", "mysql://app:planted@db/x?max_execution_time=1&timeout=5&zz=1", "max_execution_time in the URL is none that flakepass takes; remove it; timeout in the URL must be a duration from 100ms to 1m, such as 5s; zz in the URL is none that flakepass takes; remove it; flakepass takes tls, timeout, readTimeout, writeTimeout, compress, connectionAttributes, allowCleartextPasswords"},
		{"database", "mysql://app:x@db/x?planted", "a parameter after ? in the URL is none that flakepass takes"},
		{"database", "mysql://app:x@db/x?plan-ted=1", "a parameter after ? in the URL is none that flakepass takes"},
		{"database", "mysql://app:x@db/x?%74imeout=5s", "a parameter after ? in the URL is none that flakepass takes"},
		{"replicas", "mysql://app:planted@db/x?autocommit=0", "replica 1: autocommit in the URL is none that flakepass takes"},
		{"replicas", "mysql://app:planted@db/x,", "replica 2: this does not begin with the kind of a database"},
		{"replicas", "mysql://app:planted@db/x, mysql://app:pl/anted@db/x", "replica 2: "},
		{"replicas", "sqlite:copy.db", "replica 1: only MySQL has replicas"},
		{"replicas", "mysql://app:planted@db/x", "SQLite has no replicas; leave it empty"},
		{"replica_lag", "0s", "1s"},
		{"database_wait", "-1s", "from 0s to 24h"},
		{"redis", "cache:6379", "does not begin with the scheme of a Redis URL; supported are redis://"},
		{"redis", "http://cache", "does not begin with the scheme of a Redis URL"},
		{"redis", "redis+ring://cache", "this kind of Redis is not supported"},
		{"redis", "redis://", "names no host"},
		{"redis", "redis://planted@cache", "for a password alone write redis://:password@host"},
		{"redis", "redis://a,b", "names several hosts; begin it with redis+cluster://"},
		{"redis", "redis://cache/x", "must be a number, such as 0"},
		{"redis", "redis://cache/-1", "must be a number, such as 0"},
		{"redis", "redis://cache?pool_size=5", "takes no parameters"},
		{"redis", "redis://:planted@cache:0", "port must be a number"},
		{"redis", "redis+sentinel://a,b", "the name under which the sentinels know the master is missing"},
		{"redis", "redis+sentinel://a,,b/m", "has a comma with no host beside it"},
		{"redis", "redis+sentinel://a/m/x", "must be a number, such as 0"},
		{"redis", "redis+cluster://a?sentinel_password=planted", "takes no parameters, unless it begins with redis+sentinel://"},
		{"redis", "redis+sentinel://a/m?", "takes sentinel_password=... and sentinel_username=..."},
		{"redis", "redis+sentinel://a/m?planted", "takes sentinel_password=... and sentinel_username=..."},
		{"redis", "redis+sentinel://a/m?sentinel_password=", "sentinel_password in the Redis URL is empty"},
		{"redis", "redis+sentinel://a/m?sentinel_password=planted&sentinel_password=planted", "given twice"},
		{"redis", "redis+sentinel://a/m?sentinel_password=planted%zz", "empty, malformed"},
		{"redis", "redis+sentinel://a/m?sentinel_username=planted", "without a sentinel_password"},
		{"redis", "redis+sentinel://a/m?sentinel_password=planted@b", "URL is malformed; in a user or password write @ as %40"},
		{"redis", "redis+cluster://a,b/0", "no databases to choose from"},
		{"worker", "redis", "redis is the one that FLAKEPASS_REDIS names, and that is empty"},
		{"worker", "redis://:planted@cache", "redis takes no address here"},
		{"worker", "zookeeper", "does not begin with zookeeper://"},
		{"worker", "zookeeper:planted", "does not begin with zookeeper://"},
		{"worker", "zookeeper://h", "the path under which numbers are kept is missing"},
		{"worker", "zookeeper://h/", "the path under which numbers are kept is missing"},
		{"worker", "zookeeper:///p", "names no host"},
		{"worker", "zookeeper://h,,i/p", "has a comma with no host beside it"},
		{"worker", "zookeeper://h:0/p", "port must be a number"},
		{"worker", "zookeeper://h/p//q", "between single slashes"},
		{"worker", "zookeeper://h/p/", "between single slashes"},
		{"worker", "zookeeper://h/p/../q", "consists of dots"},
		{"worker", "zookeeper://u@h/p", "the user or the password is missing"},
		{"worker", "zookeeper://:planted@h/p", "the user or the password is missing"},
		{"worker", "zookeeper://u%3Av:planted@h/p", "no users with a colon"},
		{"worker", "zookeeper://u:12/planted@h/p", "write @ as %40"},
		{"worker", "zookeeper://u:pl#anted@h/p", "write %23"},
		{"worker", "zookeeper://h/p?key=", "the key in the URL is empty"},
		{"worker", "zookeeper://h/p?key=..", "the key in the URL is empty or malformed"},
		{"worker", "zookeeper://h/p?key=a&key=b", "takes one parameter, key"},
		{"worker", "zookeeper://h/p?session=5s", "takes one parameter, key"},
		{"worker", "zookeper://u:planted@h/p", "this is not a way to get a worker number"},
		{"worker", "static", "write static:N with N from 0 to 1023"},
		{"worker", "static:1024", "write static:N with N from 0 to 1023"},
		{"worker", "file:x", `this is not a way to get a worker number`},
		{"registration", "Open", `"Open" is not allowed; write open or closed`},
		{"service_password_login", "true", `"true" is not allowed; write existing or on or off`},
		{"revocation_bound", "5", `"5" has no unit; write for example 5s`},
		{"revocation_bound", "soon", "is not a duration"},
		{"revocation_bound", "999ms", "write a duration from 1s to 5m"},
		{"revocation_bound", "5m1s", "write a duration from 1s to 5m"},
		{"revocation_bound", "-5s", "out of range"},
		{"trusted_proxies", "0.0.0.0/0", "would believe everybody"},
		{"trusted_proxies", "::/0", "would believe everybody"},
		{"trusted_proxies", "::ffff:0.0.0.0/96", "would believe everybody"},
		{"trusted_proxies", "10.0.0.1,", "nothing between two commas or beside one"},
		{"trusted_proxies", "proxy", "neither an IP address nor a network"},
		{"trusted_proxies", "fe80::1%eth0", "neither an IP address nor a network"},
		{"trusted_proxies", "10.1.2.3/8", "write 10.0.0.0/8 for the network, or 10.1.2.3 for the one address"},
		{"token_header", "X Auth", "not the name of a header"},
		{"token_header", "X-Auth:", "not the name of a header"},
		{"token_header", "X_Auth_Token", "not the name of a header"},
		{"token_header", "'x'", "not the name of a header"},
		{"token_header", "idempotency-key", "has another meaning"},
		{"token_header", "authorization", "the header Authorization has another meaning"},
		{"token_header", "Cookie", "has another meaning"},
		{"token_header", "host", "has another meaning"},
		{"token_header", "TE", "has another meaning"},
		{"token_header", "transfer-encoding", "has another meaning"},
		{"token_header", "X-Forwarded-For", "has another meaning"},
		{"token_header", "X-Auth-User-Id", "has another meaning"},
		{"token_header", "x-auth-signature", "has another meaning"},
		{"token_header", "X-Auth-Passive", "has another meaning"},
		{"token_header", "X-Auth-Slots", "has another meaning"},
		{"token_header", "Last-Event-ID", "has another meaning"},
		{"token_header", "If-Match", "has another meaning"},
		{"public_url", "https://auth.example.org:65536", "not the URL of a server"},
		{"public_url", "https://auth.example.org:0", "not the URL of a server"},
		{"public_url", "https://auth.example.org:", "not the URL of a server"},
		{"public_url", `https://auth".example.org`, "not the URL of a server"},
		{"forward_key", "planted-0123456789abcdef0123456", "the key has 31 characters and needs at least 32; make one with: openssl"},
		{"log_level", "INFO", "write debug or info or warn or error"},
		{"log_format", "xml", "write text or json"},
		{"shutdown_timeout", "0s", "from 1s to 10m"},
		{"hash_workers", "-1", "from 0 to 1024"},
		{"hash_workers", "1.5", "digits only, from 0 to 1024"},
		{"tls_cert", "https://ca/it.pem", "not a path"},
		{"tls_key", "-----BEGIN PRIVATE KEY-----", "not a path"},
		{"breached_passwords", "https://pwned/list.txt", "not a path; write the path of a file"},
		{"public_url", "auth.example.org", "not the URL of a server"},
		{"public_url", "ftp://auth.example.org", "not the URL of a server"},
		{"public_url", "https://auth.example.org/auth", "without a path"},
		{"public_url", "https://auth.example.org?x=1", "without a path"},
		{"public_url", "https://me:planted@auth.example.org", "without a user"},
		{"import_hook_url", "https://old.example.org/hook", "IMPORT_HOOK_URL is set and this is not"},
		{"import_hook_url", "old.example.org", "not the URL of a server"},
		{"import_hook_url", "ftp://old.example.org/", "not the URL of a server"},
		{"import_hook_url", "https://old.example.org:0/", "not the URL of a server"},
		{"import_hook_url", "https://me:planted@old.example.org/", "without a user, a query and a fragment"},
		{"import_hook_url", "https://old.example.org/?key=planted", "without a user, a query and a fragment"},
		{"import_hook_url", "http://old.example.org/", "write https, or http for localhost"},
		{"import_hook_url", "http://10.0.0.1/", "write https, or http for localhost"},
		{"import_hook_url", "http://127.0.0.1.example.org/", "write https, or http for localhost"},
		{"import_hook_secret", "whsec_cGxhbnRlZC1wbGFudGVkLXBsYW50ZWQ=", "is not 24 to 64 bytes in base64"},
		{"import_hook_secret", "planted-planted-planted-planted", "is not 24 to 64 bytes in base64"},
		{"import_hook_secret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "IMPORT_HOOK_SECRET is set and this is not"},
		{"hash_process", "1", "write on or off"},
		{"throttle", "yes", "write on or off"},
		{"h2c", "yes", "write on or off"},
		{"max_connections", "0", "from 1 to 1000000"},
		{"audit_expiry", "yes", "write on or off"},
		{"audit_logins", "no", "write on or off"},
		{"delete_retention", "23h", "from 24h to 87600h"},
		{"audit_retention", "400w", "is not a duration"},
		{"audit_retention", "1h", "from 24h to 87600h, or 0h for ever"},
		{"cache_entries", "-1", "from 0 to 100000000"},
		{"cache_entries", "99999999999999999999", "out of range"},
	} {
		_, err := load(nil, variable(tt.key)+"="+tt.value)
		ps, _ := errors.AsType[config.Problems](err)
		if len(ps) != 1 || ps[0].Variable != variable(tt.key) && !strings.Contains(ps[0].Text, variable(tt.key)) || !strings.Contains(ps[0].Text, tt.want) {
			t.Errorf("%s=%s\n got %v\nwant %s", tt.key, tt.value, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "planted") {
			t.Errorf("%s=%s: the password is in %v", tt.key, tt.value, err)
		}
	}
}

func TestGoodURLs(t *testing.T) {
	for _, v := range []string{
		"sqlite:flakepass.db", "sqlite:/var/lib/flakepass.db", "mysql://app@db/x", "mysql://app:pw@db:3306/x",
		"mysql://app:p%40s%2Fs@[::1]:3307/my-db_1", "mysql://app:p@ss@10.0.0.1/x?tls=true&timeout=5s",
		"mysql://app@db/x?timeout=100ms&readTimeout=3s&writeTimeout=1m0s&compress=false&tls=false", "mysql://app@db/x?", "mysql://app@db/x?&",
		"mysql://app@db/x?allowCleartextPasswords=true&tls=true&connectionAttributes=program_name:flakepass%2F1",
	} {
		if _, err := load(nil, "FLAKEPASS_DATABASE="+v); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
}

func TestGoodImportHooks(t *testing.T) {
	for _, v := range []string{"https://old.example.org", "https://old.example.org:8443/a/b", "http://localhost:1/x", "http://127.0.0.7/", "http://[::1]:8080/hook"} {
		if _, err := load(nil, "FLAKEPASS_IMPORT_HOOK_URL="+v, "FLAKEPASS_IMPORT_HOOK_SECRET=MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
}

func TestParseRedis(t *testing.T) {
	for _, tt := range []struct {
		url  string
		want config.Redis
		addr string
		pass string
	}{
		{"redis://cache", config.Redis{Mode: "single"}, "cache:6379", ""},
		{"rediss://u:p%40@[::1]:1/3", config.Redis{Mode: "single", TLS: true, Username: "u", DB: 3}, "[::1]:1", "p@"},
		{"redis://:p@h", config.Redis{Mode: "single"}, "h:6379", "p"},
		{"redis+sentinel://a,b:2/m", config.Redis{Mode: "sentinel", Master: "m"}, "a:26379 b:2", ""},
		{"rediss+sentinel://u:p@a:1/m/4", config.Redis{Mode: "sentinel", TLS: true, Username: "u", Master: "m", DB: 4}, "a:1", "p"},
		{"redis+cluster://a,b:7001", config.Redis{Mode: "cluster"}, "a:6379 b:7001", ""},
		{"rediss+cluster://a/", config.Redis{Mode: "cluster", TLS: true}, "a:6379", ""},
	} {
		r, err := config.ParseRedis(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if r.Mode != tt.want.Mode || r.TLS != tt.want.TLS || r.Username != tt.want.Username || r.Master != tt.want.Master ||
			r.DB != tt.want.DB || r.Password.Reveal() != tt.pass || strings.Join(r.Addrs, " ") != tt.addr {
			t.Errorf("%s gives %+v with password %q", tt.url, r, r.Password.Reveal())
		}
	}
}

func TestParseZooKeeper(t *testing.T) {
	for _, tt := range []struct {
		url              string
		want             config.ZooKeeper
		addrs, pass, say string
	}{
		{"zookeeper://h1,h2:2182/flakepass/workers", config.ZooKeeper{Path: "/flakepass/workers"}, "h1:2181 h2:2182", "", ""},
		{"zookeeper://app:p%40%3A%2F@[::1]:1/w", config.ZooKeeper{Path: "/w", Username: "app"}, "[::1]:1", "p@:/", "zookeeper://app:[hidden]@[::1]:1/w"},
		{"zookeeper://a:p@h/w?key=10.0.0.7:8080", config.ZooKeeper{Path: "/w", Username: "a", Key: "10.0.0.7:8080"}, "h:2181", "p", "zookeeper://a:[hidden]@h/w?key=10.0.0.7:8080"},
	} {
		z, err := config.ParseZooKeeper(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if z.Path != tt.want.Path || z.Username != tt.want.Username || z.Key != tt.want.Key || z.Password.Reveal() != tt.pass || strings.Join(z.Addrs, " ") != tt.addrs {
			t.Errorf("%s gives %+v with password %q", tt.url, z, z.Password.Reveal())
		}
		if tt.say == "" {
			tt.say = tt.url
		}
		if c := mustLoad(t, nil, "FLAKEPASS_WORKER="+tt.url); c.Worker.String() != tt.say || !reflect.DeepEqual(c.Worker.ZooKeeper, z) {
			t.Errorf("%s is shown as %s", tt.url, c.Worker)
		}
	}
}

// A file is locked by each machine by itself: two servers on one MySQL both had
// number 0.
func TestWorkerFileIsForSQLiteAlone(t *testing.T) {
	const mysql = "FLAKEPASS_DATABASE=mysql://app:pw@db/x"
	_, err := load(nil, mysql, "FLAKEPASS_WORKER=file")
	if err == nil || !strings.Contains(err.Error(), "FLAKEPASS_WORKER: file is for SQLite on one machine; write sql or static:N") {
		t.Errorf("file with MySQL: %v", err)
	}
	for _, env := range [][]string{
		{"FLAKEPASS_WORKER=file"}, {mysql, "FLAKEPASS_WORKER=sql"}, {mysql, "FLAKEPASS_WORKER=static:3"},
		{"FLAKEPASS_WORKER=redis", "FLAKEPASS_REDIS=redis://cache"}, {mysql, "FLAKEPASS_WORKER=zookeeper://h/p"},
	} {
		mustLoad(t, nil, env...)
	}
	// What is wrong with Redis is reported once.
	_, err = load(nil, "FLAKEPASS_WORKER=redis", "FLAKEPASS_REDIS=x")
	if err == nil || !strings.HasPrefix(err.Error(), "config: 1 problem:") {
		t.Errorf("redis as worker and a bad URL: %v", err)
	}
}

func TestBadSecretFiles(t *testing.T) {
	f := files{"empty": "\n", "huge": strings.Repeat("x", 70_000), "nul": "redis://\x00", "bad": "redis://planted@cache"}
	for path, want := range map[string]string{
		"":                        "the path of the file is empty",
		"gone":                    "cannot read that file (file does not exist)",
		"redis://:planted@cache":  "this is not a path",
		"empty":                   "that file is empty; write the value into it",
		"huge":                    "longer than 64 KiB",
		"nul":                     "control character",
		"bad":                     "for a password alone",
		"/run/planted@somewhere/": "cannot read that file (file does not exist)",
	} {
		_, err := load(f, "FLAKEPASS_REDIS_FILE="+path)
		if err == nil || !strings.Contains(err.Error(), "FLAKEPASS_REDIS_FILE: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		} else if strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: the password is in %v", path, err)
		}
	}
}

// TestSecretInThePlaceOfItsFileIsNotRepeated: who gives NAME_FILE the value itself finds the error in the log. A value
// in base64 may begin as a path does.
func TestSecretInThePlaceOfItsFileIsNotRepeated(t *testing.T) {
	for variable, secret := range map[string]string{
		"SECOND_FACTOR_KEY":  "3q2+7wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhs=",
		"IMPORT_HOOK_SECRET": "whsec_3q2+7wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhs=",
		"FORWARD_KEY":        "00112233445566778899aabbccddeeff",
		"REDIS":              "/q2+7wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhs=",
	} {
		for _, f := range []files{{}, {secret: ""}, {secret: strings.Repeat("x", 70_000)}} {
			_, err := load(f, "FLAKEPASS_"+variable+"_FILE="+secret, "FLAKEPASS_IMPORT_HOOK_URL=https://old.example.org/")
			if err == nil || !strings.Contains(err.Error(), "FLAKEPASS_"+variable+"_FILE: ") || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the secret is in the error, or the variable is not: %v", variable, err)
			}
		}
	}
}

func TestParseSentinelPassword(t *testing.T) {
	for url, want := range map[string][2]string{
		"redis+sentinel://:p@a/m":                                                   {"", ""},
		"redis+sentinel://:p@a/m?sentinel_password=s%40%26+%3D=":                    {"", "s@&+=="},
		"redis+sentinel://u:p@a/m/3?sentinel_username=guard&sentinel_password=%2Fx": {"guard", "/x"},
		"rediss+sentinel://a,b/m?sentinel_password=x&sentinel_username=guard":       {"guard", "x"},
	} {
		r, err := config.ParseRedis(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if r.SentinelUsername != want[0] || r.SentinelPassword.Reveal() != want[1] || r.Master != "m" {
			t.Errorf("%s gives user %q, password %q", url, r.SentinelUsername, r.SentinelPassword.Reveal())
		}
		if where := r.Where(); strings.ContainsAny(where, "?@") || !strings.HasSuffix(where, "/m") {
			t.Errorf("%s is shown as %s", url, where)
		}
	}
}

func TestCertificateNeedsItsKey(t *testing.T) {
	for _, tt := range [][2]string{{"TLS_CERT", "TLS_KEY"}, {"TLS_KEY", "TLS_CERT"}} {
		_, err := load(nil, "FLAKEPASS_"+tt[0]+"=it.pem")
		if want := "FLAKEPASS_" + tt[1] + ": FLAKEPASS_" + tt[0] + " is set and this is not"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s alone: %v", tt[0], err)
		}
	}
}
