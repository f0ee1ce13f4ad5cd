package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

// golden is the dump with one space between two columns.
const golden = `VARIABLE ORIGIN VALUE
FLAKEPASS_LISTEN environment :80
FLAKEPASS_OPS_LISTEN default 127.0.0.1:9090
FLAKEPASS_TLS_CERT default (none)
FLAKEPASS_TLS_KEY default (none)
FLAKEPASS_H2C default off
FLAKEPASS_MAX_CONNECTIONS default 10000
FLAKEPASS_DATA_DIR default ./flakepass-data
FLAKEPASS_DATABASE file (line 2) mysql://app:[hidden]@db:3306/flakepass?tls=true&connectionAttributes=[hidden]
FLAKEPASS_DATABASE_WAIT default 1m
FLAKEPASS_REPLICAS file (line 6) mysql://app:[hidden]@copy/flakepass, mysql://app:[hidden]@copy2/flakepass
FLAKEPASS_REPLICA_LAG default 10s
FLAKEPASS_REDIS environment (FLAKEPASS_REDIS_FILE) rediss+sentinel://:[hidden]@a,b:2/main/1?sentinel_password=[hidden]&sentinel_username=[hidden]
FLAKEPASS_WORKER default sql
FLAKEPASS_REGISTRATION default open
FLAKEPASS_SERVICE_PASSWORD_LOGIN default existing
FLAKEPASS_IMPERSONATION default off
FLAKEPASS_ISSUE_METHODS default sms,email,wechat,alipay,oidc:apple,oidc:google,oidc:microsoft,sso
FLAKEPASS_REVOCATION_BOUND file (line 3) 1m30s
FLAKEPASS_THROTTLE default on
FLAKEPASS_PUBLIC_URL default (none)
FLAKEPASS_BREACHED_PASSWORDS default (none)
FLAKEPASS_IMPORT_HOOK_URL default (none)
FLAKEPASS_IMPORT_HOOK_SECRET default (none)
FLAKEPASS_TRUSTED_PROXIES file (line 4) 10.0.0.0/8,::1/128
FLAKEPASS_TOKEN_HEADER default (none)
FLAKEPASS_FORWARD_KEY file (line 5) [hidden]
FLAKEPASS_LOG_LEVEL default info
FLAKEPASS_LOG_FORMAT default text
FLAKEPASS_SHUTDOWN_TIMEOUT default 15s
FLAKEPASS_HASH_WORKERS default CPUS
FLAKEPASS_HASH_PROCESS default on
FLAKEPASS_CACHE_ENTRIES default 100000
FLAKEPASS_AUDIT_EXPIRY default off
FLAKEPASS_AUDIT_LOGINS default on
FLAKEPASS_AUDIT_RETENTION default 9600h
FLAKEPASS_DELETE_RETENTION default 720h
FLAKEPASS_SELF_DELETION default off
FLAKEPASS_SELF_DELETION_GRACE default 336h
FLAKEPASS_SECOND_FACTOR default optional
FLAKEPASS_SECOND_FACTOR_KEY default (none)
`

var spaces = regexp.MustCompile(" {2,}")

// planted is a configuration whose every secret contains PLANTED.
func planted(t *testing.T) config.Config {
	t.Helper()
	return mustLoad(t, files{
		"conf.yaml": "---\ndatabase: mysql://app:PLANTED@db:3306/flakepass?tls=true&connectionAttributes=PLANTED\nrevocation_bound: 90s\ntrusted_proxies: [10.0.0.0/8, '::1']\n" +
			"forward_key: PLANTED-0123456789abcdef0123456789\n" +
			"replicas: mysql://app:PLANTED@copy/flakepass,mysql://app:PLANTED@copy2/flakepass\n",
		"secret": "rediss+sentinel://:PLANTED@a,b:2/main/1?sentinel_password=PLANTED&sentinel_username=guard\n",
	}, "FLAKEPASS_LISTEN=:80", "FLAKEPASS_REDIS_FILE=secret")
}

func TestDump(t *testing.T) {
	effective := strings.Replace(golden, "CPUS", strconv.Itoa(runtime.GOMAXPROCS(0)), 1) // what is in force, and not 0
	got := dump(t, planted(t), false)
	if spaces.ReplaceAllString(got, " ") != effective {
		t.Errorf("got\n%s\nwant\n%s", got, effective)
	}
	head, _, _ := strings.Cut(got, "\n")
	for line := range strings.Lines(got) { // the columns stand below one another
		for _, column := range []string{"ORIGIN", "VALUE"} {
			if i := strings.Index(head, column); line[i-1] != ' ' || line[i] == ' ' {
				t.Errorf("not below %s: %s", column, line)
			}
		}
	}
	var lines []map[string]string
	if err := json.Unmarshal([]byte(dump(t, planted(t), true)), &lines); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"variable": "FLAKEPASS_DATABASE", "key": "database", "origin": "file", "detail": "line 2",
		"value": "mysql://app:[hidden]@db:3306/flakepass?tls=true&connectionAttributes=[hidden]"}
	if len(lines) != len(everything) || !slices.ContainsFunc(lines, func(l map[string]string) bool { return reflect.DeepEqual(l, want) }) {
		t.Errorf("JSON has %d lines: %v", len(lines), lines)
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	c := planted(t)
	if !strings.Contains(c.Database.URL.Reveal(), "PLANTED") || c.Redis.IsZero() {
		t.Fatal("the secrets are not what was planted")
	}
	r := c.Redis
	if r.Password.Reveal() != "PLANTED" || r.SentinelPassword.Reveal() != "PLANTED" {
		t.Fatalf("the passwords are %q and %q", r.Password.Reveal(), r.SentinelPassword.Reveal())
	}
	secret := r.Password
	unexported := struct {
		c config.Config
		s config.Secret
		p *config.Secret
		r config.Redis
	}{c, secret, &secret, r}
	var out bytes.Buffer
	for _, v := range []any{c, &c, c.Database, c.Worker, secret, &secret, r, &r, unexported, &unexported, []config.Secret{secret}, map[string]config.Secret{"a": secret}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("text", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "v", v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
	}
	out.WriteString(dump(t, c, false) + dump(t, c, true))
	for _, shown := range []string{"PLANTED", fmt.Sprintf("%x", "PLANTED"), fmt.Sprintf("%X", "PLANTED"), fmt.Sprintf("%d", []byte("PLANTED"))} {
		if strings.Contains(out.String(), shown) {
			t.Errorf("%s is printed", shown)
		}
	}
}

func TestEmptySecret(t *testing.T) {
	var zero config.Secret
	if s := config.NewSecret(""); !s.IsZero() || !zero.IsZero() || zero.Reveal() != "" || zero.String() != "" {
		t.Error("the empty secret is not empty")
	}
	if s := config.NewSecret("x"); s.IsZero() || s.Reveal() != "x" || s.String() != "[hidden]" {
		t.Errorf("NewSecret gives %v, %q", s, s.Reveal())
	}
}

func TestReferenceNamesEverySetting(t *testing.T) {
	var b bytes.Buffer
	if err := config.Reference(&b); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")[2:]
	if len(rows) != len(everything) {
		t.Errorf("%d rows for %d settings", len(rows), len(everything))
	}
	for _, row := range rows {
		cells := strings.Split(strings.ReplaceAll(row, `\|`, ""), "|")
		if len(cells) != 6 {
			t.Errorf("not four cells: %s", row)
			continue
		}
		key := strings.Trim(cells[2], " `")
		if _, ok := everything[key]; !ok || strings.Trim(cells[1], " `") != variable(key) {
			t.Errorf("variable and key do not fit: %s", row)
		}
		if strings.TrimSpace(cells[3]) == "" || !strings.HasSuffix(strings.TrimSpace(cells[4]), ".") {
			t.Errorf("no default, or no sentence: %s", row)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("full")

func TestWriteErrorsAreReported(t *testing.T) {
	c := mustLoad(t, nil)
	for _, err := range []error{c.Dump(full{}, false), c.Dump(full{}, true), config.Reference(full{})} {
		if !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	}
}
