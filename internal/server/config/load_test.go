package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/internal/server/config"
)

// files is a file system in memory.
type files map[string]string

func (f files) ReadFile(path string) ([]byte, error) {
	data, ok := f[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(data), nil
}

// load reads conf.yaml of f, if there is one, and env.
func load(f files, env ...string) (config.Config, error) {
	o := config.Options{Environ: append([]string{}, env...), ReadFile: f.ReadFile}
	if _, ok := f["conf.yaml"]; ok {
		o.File = "conf.yaml"
	}
	return config.Load(o)
}

func mustLoad(t *testing.T, f files, env ...string) config.Config {
	t.Helper()
	c, err := load(f, env...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dump(t *testing.T, c config.Config, asJSON bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Dump(&b, asJSON); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNothingConfiguredIsComplete(t *testing.T) {
	c := mustLoad(t, nil)
	got := []any{
		c.Listen, c.OpsListen, c.DataDir, c.Database.Kind, c.Database.Path, c.Database.URL.IsZero(), c.Redis.IsZero(), c.Worker,
		c.Registration, c.RevocationBound, len(c.TrustedProxies), c.TokenHeader, c.LogLevel, c.LogFormat, c.ShutdownTimeout,
		c.HashWorkers, c.CacheEntries, c.AuditExpiry, c.AuditLogins, c.AuditRetention, c.DeleteRetention, c.SelfDeletion, c.SelfDeletionGrace,
	}
	want := []any{
		"127.0.0.1:8080", "127.0.0.1:9090", "./flakepass-data", "sqlite", filepath.Join("flakepass-data", "flakepass.db"), true, true,
		config.Worker{Kind: "file"}, "open", 5 * time.Second, 0, "", slog.LevelInfo, "text", 15 * time.Second, runtime.GOMAXPROCS(0), 100000, false, true, 400 * 24 * time.Hour, 30 * 24 * time.Hour, false, 14 * 24 * time.Hour,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("defaults are\n%v, want\n%v", got, want)
	}
}

// everything sets each setting to something else than its default.
var everything = map[string]string{
	"listen": ":80", "ops_listen": "[::1]:0", "data_dir": "/var/lib/flakepass", "database": "mysql://app:pw@db/flakepass",
	"replicas": "mysql://app:pw@copy1/flakepass, mysql://app:pw@copy2/flakepass", "replica_lag": "3s", "database_wait": "0s",
	"redis": "redis://cache", "worker": "static:7", "registration": "closed", "service_password_login": "off", "impersonation": "on", "issue_methods": "sms, oidc:corp", "revocation_bound": "1m0s",
	"trusted_proxies": "10.0.0.0/8, 192.168.1.1, ::ffff:172.16.0.0/108", "token_header": "x-auth-TOKEN", "log_level": "debug",
	"log_format": "json", "shutdown_timeout": "1m", "hash_workers": "1023", "hash_process": "off", "cache_entries": "10",
	"tls_cert": "/etc/tls.crt", "tls_key": "/etc/tls.key", "h2c": "on", "throttle": "off", "max_connections": "12",
	"forward_key": "0123456789abcdef0123456789abcdef",

	"second_factor":     "admins",
	"second_factor_key": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
	"audit_expiry":      "on", "audit_logins": "off", "audit_retention": "720h",
	"import_hook_url": "https://old.example.org/hook", "import_hook_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	"delete_retention": "48h", "self_deletion": "on", "self_deletion_grace": "24h",
	"breached_passwords": "/srv/pwned.txt", "public_url": "https://auth.example.org",
}

func variable(key string) string { return "FLAKEPASS_" + strings.ToUpper(key) }

func TestEverySettingIsReadFromBothPlaces(t *testing.T) {
	var env []string
	var file strings.Builder
	for key, value := range everything {
		env = append(env, variable(key)+"="+value)
		file.WriteString(key + ": '" + value + "'\n")
	}
	defaults := reflect.ValueOf(mustLoad(t, nil))
	for name, c := range map[string]config.Config{
		"environment": mustLoad(t, nil, env...),
		"file":        mustLoad(t, files{"conf.yaml": file.String()}),
	} {
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && reflect.DeepEqual(v.Field(i).Interface(), defaults.Field(i).Interface()) {
				t.Errorf("%s: no setting changes %s", name, f.Name)
			}
		}
		want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.1.1/32"), netip.MustParsePrefix("172.16.0.0/12")}
		if !reflect.DeepEqual(c.TrustedProxies, want) {
			t.Errorf("%s: proxies are %v, want %v", name, c.TrustedProxies, want)
		}
		if c.TokenHeader != "X-Auth-Token" || c.Worker.Kind != "static" || c.Worker.Number != 7 || c.LogLevel != slog.LevelDebug {
			t.Errorf("%s: header %q, worker %v, level %v", name, c.TokenHeader, c.Worker, c.LogLevel)
		}
		var lines []struct{ Key, Origin string }
		if err := json.Unmarshal([]byte(dump(t, c, true)), &lines); err != nil {
			t.Fatal(err)
		}
		if len(lines) != len(everything) {
			t.Errorf("%d settings are dumped and %d tested", len(lines), len(everything))
		}
		for _, l := range lines {
			if l.Origin != name {
				t.Errorf("%s comes from %q, want %q", l.Key, l.Origin, name)
			}
		}
	}
}

func TestEnvironmentBeatsFile(t *testing.T) {
	f := files{"conf.yaml": "listen: :1\nredis: redis://file\nlog_level: warn\n", "r": "redis://named\n"}
	c := mustLoad(t, f, "FLAKEPASS_LISTEN=:2", "FLAKEPASS_REDIS_FILE=r")
	if c.Listen != ":2" || c.Redis.Where() != "named:6379" || c.LogLevel != slog.LevelWarn {
		t.Errorf("got %q %q %v, want the environment, the environment, the file", c.Listen, c.Redis.Where(), c.LogLevel)
	}
	if c := mustLoad(t, f, "FLAKEPASS_REDIS="); !c.Redis.IsZero() {
		t.Error("an empty variable does not turn off the file's Redis")
	}
}

func TestProxiesAsList(t *testing.T) {
	for _, text := range []string{"[10.0.0.0/8, '::1']", "\n  - 10.0.0.0/8\n  - ::1", "10.0.0.0/8,::1"} {
		c := mustLoad(t, files{"conf.yaml": "trusted_proxies: " + text})
		if len(c.TrustedProxies) != 2 || c.TrustedProxies[1].String() != "::1/128" {
			t.Errorf("%s gives %v", text, c.TrustedProxies)
		}
	}
	if c := mustLoad(t, files{"conf.yaml": "trusted_proxies: []"}); len(c.TrustedProxies) != 0 {
		t.Errorf("the empty list gives %v", c.TrustedProxies)
	}
}

func TestSecretFromFile(t *testing.T) {
	const url = "mysql://app:pw@db:3306/flakepass"
	for _, text := range []string{url, url + "\n", url + "\r\n", "\ufeff" + url + "\r\n"} {
		c := mustLoad(t, files{"s": text}, "FLAKEPASS_DATABASE_FILE=s")
		if c.Database.URL.Reveal() != url {
			t.Errorf("%q gives %q", text, c.Database.URL.Reveal())
		}
		c = mustLoad(t, files{"s": text, "conf.yaml": "database_file: s"})
		if c.Database.URL.Reveal() != url || c.Worker.Kind != config.WorkerSQL {
			t.Errorf("%q gives %q, worker %v", text, c.Database.URL.Reveal(), c.Worker)
		}
	}
	if _, err := load(files{"s": url + "\n\n"}, "FLAKEPASS_DATABASE_FILE=s"); err == nil {
		t.Error("two line breaks are dropped, want one")
	}
}

func TestRealFiles(t *testing.T) {
	dir := t.TempDir()
	conf, secret := filepath.Join(dir, "conf.yaml"), filepath.Join(dir, "redis")
	for path, text := range map[string]string{conf: "redis_file: " + secret, secret: "redis://:pw@cache/2\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Options{File: conf, Environ: []string{}})
	if err != nil || c.Redis.Where() != "cache:6379" || c.Redis.DB != 2 || c.Redis.Password.Reveal() != "pw" {
		t.Errorf("got %s, %v", c.Redis, err)
	}
	_, err = config.Load(config.Options{File: dir, Environ: []string{}})
	if err == nil || !strings.Contains(err.Error(), "the file cannot be read (is a directory)") {
		t.Errorf("a directory gives %v", err)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		_, err = config.Load(config.Options{File: "/dev/zero", Environ: []string{}})
		if err == nil || !strings.Contains(err.Error(), "longer than 64 KiB") {
			t.Errorf("a file without an end gives %v", err)
		}
	}
}

// TestPipeWithoutAWriterIsEmpty: the start does not wait for what never comes.
func TestPipeWithoutAWriterIsEmpty(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(config.Options{Environ: []string{"FLAKEPASS_FORWARD_KEY_FILE=" + pipe}})
	if err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Error(err)
	}
}

// TestHeadersOfTheContractCarryNoToken: what a route reads for another purpose is refused.
func TestHeadersOfTheContractCarryNoToken(t *testing.T) {
	names := regexp.MustCompile(`name: (\S+)\n\s+in: header`).FindAllSubmatch(api.Spec(), -1)
	if len(names) < 7 {
		t.Fatalf("the contract has %d headers", len(names))
	}
	for _, n := range names {
		if _, err := load(nil, "FLAKEPASS_TOKEN_HEADER="+string(n[1])); err == nil {
			t.Errorf("%s may have the token", n[1])
		}
	}
}

// Kubernetes sets variables that begin like ours beside a service called
// flakepass; a URL is never meant as FLAKEPASS_LISTEN.
func TestForeignVariablesAreNoProblem(t *testing.T) {
	mustLoad(t, nil, "PATH=/bin", "FLAKEPASS_TEST_MYSQL=x", "FLAKEPASS_SERVICE_HOST=10.0.0.1", "FLAKEPASS_SERVICE_PORT=80",
		"FLAKEPASS_SERVICE_PORT_HTTP=80", "FLAKEPASS_PORT=tcp://10.0.0.1:80", "FLAKEPASS_PORT_80_TCP=tcp://10.0.0.1:80",
		"FLAKEPASS_PORT_80_TCP_PROTO=tcp", "FLAKEPASS_PORT_80_TCP_PORT=80", "FLAKEPASS_PORT_80_TCP_ADDR=10.0.0.1",
		"FLAKEPASS_OPS_SERVICE_HOST=10.0.0.1", "FLAKEPASS_OPS_PORT=tcp://10.0.0.1:80")
	if _, err := load(nil, "FLAKEPASS_PORT=8080"); err == nil {
		t.Error("FLAKEPASS_PORT=8080 is believed to come from Kubernetes")
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := load(files{"conf.yaml": "lisen: :1\nlog_level: loud\nlog_level: info\nhash_workers: many\n"},
		"FLAKEPASS_DATABASE=postgres://app:pw@db/x", "FLAKEPASS_REDIS=x", "FLAKEPASS_REDIS_FILE=y",
		"FLAKEPASS_REVOCATION_BOUND=5", "FLAKEPASS_LISTEN_FILE=z", "FLAKEPASS_DATABSE=mysql://app:pw@db/x")
	const want = `config: 9 problems:
  lisen, line 1 of conf.yaml: there is no such key; remove it. Did you mean listen?
  FLAKEPASS_LOG_LEVEL (log_level, line 3 of conf.yaml): this key stands on line 2 too; remove one of the two
  FLAKEPASS_DATABASE: postgres is not supported; supported are sqlite:<path> and mysql://user:password@host:3306/name
  FLAKEPASS_REDIS: FLAKEPASS_REDIS_FILE is set too; unset one of the two
  FLAKEPASS_REVOCATION_BOUND: "5" has no unit; write for example 5s or 500ms
  FLAKEPASS_LOG_LEVEL (log_level, line 2 of conf.yaml): "loud" is not allowed; write debug or info or warn or error
  FLAKEPASS_HASH_WORKERS (hash_workers, line 4 of conf.yaml): "many" is not a whole number; write digits only, from 0 to 1024
  FLAKEPASS_DATABSE: there is no such setting; unset it. Did you mean FLAKEPASS_DATABASE?
  FLAKEPASS_LISTEN_FILE: only secrets are read from files; set FLAKEPASS_LISTEN to the value itself`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if ps, ok := errors.AsType[config.Problems](err); !ok || len(ps) != 9 {
		t.Errorf("the error is a %T", err)
	}
}
