package config_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

var badFiles = []struct{ text, want string }{
	{"lissten: :1", "lissten, line 1 of conf.yaml: there is no such key; remove it. Did you mean listen?"},
	{"revocation-bond: 5s", "Did you mean revocation_bound?"},
	{"FLAKEPASS_LISTEN: :1", "Did you mean listen?"},
	{"colour: red", "colour, line 1 of conf.yaml: there is no such key; remove it."},
	{"listen_file: x", "only secrets are read from files; give listen the value itself"},
	{"'mysql://app:planted@db/x': 1", "a key, line 1 of conf.yaml: there is no such key"},
	{`"a\e[2J": 1`, `"a\x1b[2J", line 1`},
	{"#\nlisten: :1\nlisten: :2", "FLAKEPASS_LISTEN (listen, line 3 of conf.yaml): this key stands on line 2 too"},
	{"redis: redis://a\nredis_file: b", "FLAKEPASS_REDIS (redis, line 1 of conf.yaml): redis_file is set too, on line 2"},
	{"redis_file: b", "FLAKEPASS_REDIS_FILE (redis_file, line 1 of conf.yaml): cannot read"},
	{"listen: 8080", "must be text, and this is a number; put it in quotes"},
	{"listen: true", "must be text, and this is true or false"},
	{"listen: [a]", "must be text, and this is a list"},
	{"listen: {a: b}", "must be text, and this has several lines or parts"},
	{"listen: |\n  :80", "must be text, and this has several lines or parts"},
	{"listen:", "the key has no value; give one, or remove the key"},
	{"listen: \"\\e[2J\"", "another control character"},
	{"redis: ~", `the key has no value; give one, or write "" for none`},
	{"database: 5", "must be text, and this is a number"},
	{"redis_file: [a]", "must be text, and this is a list"},
	{"hash_workers: 0x10", "digits only"},
	{"hash_workers: 1_0", "digits only"},
	{"hash_workers: no", "digits only"},
	{"hash_workers: false", "must be a whole number, and this is true or false"},
	{"revocation_bound: 5", `"5" has no unit`},
	{"revocation_bound: .inf", "must be a duration such as 5s, and this has several lines or parts"},
	{"trusted_proxies: [[a]]", "must be a list of texts"},
	{"trusted_proxies: [1]", "must be a list of texts"},
	{"trusted_proxies: 1", "must be a list of texts, or one text with commas, and this is a number"},
	{"- listen", "conf.yaml: the file must hold keys and values"},
	{"listen", "line 1 of conf.yaml: the file must hold keys and values"},
	{"listen: :1\n---\nlisten: :2", "line 3 of conf.yaml: the file has a second document"},
	{"listen: &a :1\nops_listen: *a", "line 1 of conf.yaml: anchors and aliases"},
	{"ops_listen: *a", "anchors and aliases"},
	{"listen: !!str 1", "tags (!) are not allowed"},
	{"<<: {listen: a}", "complex keys"},
	{"? listen\n: a", "complex keys"},
	{"%YAML 1.2\n---\nlisten: a", "directives (%) are not allowed"},
	{"[listen]: a", "not valid YAML here"},
	{"listen: 'a", "line 1 of conf.yaml: the file is not valid YAML here (could not find end character of single-quoted text)"},
	{"listen: a\n  ops_listen: b", "not valid YAML here"},
	{"\tlisten: a", "not valid YAML here"},
	{"listen: @a", "not valid YAML here ('@' is a reserved character)"},
	{`database: "mysql://app:\planted@db/x"`, "in double quotes a backslash begins an escape"},
	{"listen: a\x00", "line 1 of conf.yaml: there is a control character"},
	{"#\nlisten: a\xff", "line 2 of conf.yaml: the file is not UTF-8"},
	{"#" + strings.Repeat("x", 64<<10), "the file is longer than 64 KiB"},
	{"listen: " + strings.Repeat("[", 60_000), "nested too deeply"},
	{strings.Repeat("{", 60_000), "nested too deeply"},
	{strings.Repeat("- ", 30_000), "nested too deeply"},
	{strings.Repeat("a:\n", 20_000), "more than 500 keys"},
	{strings.Repeat("? ", 30_000), "complex keys"},
	{strings.Repeat("&a ", 20_000), "anchors and aliases"},
	{"database: mysql://app:planted@db/x\n: : planted", "conf.yaml"},
	{"database: 'mysql://app:planted@db/x\nlisten: :1", "not valid YAML here"},
	{"database: {mysql://app:planted@db/x", "not valid YAML here"},
	{"database:mysql://app:planted@db/x", "the file must hold keys and values"},
}

func TestBadFiles(t *testing.T) {
	for _, tt := range badFiles {
		short := tt.text[:min(len(tt.text), 50)]
		_, err := load(files{"conf.yaml": tt.text})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "config: 1 problem:\n") {
			t.Errorf("%q\n got %v\nwant %s", short, err, tt.want)
		} else if strings.Contains(err.Error(), "planted") {
			t.Errorf("%q: the password is in %v", short, err)
		}
	}
	if _, err := config.Load(config.Options{File: "gone.yaml", Environ: []string{}, ReadFile: files{}.ReadFile}); err == nil ||
		!strings.Contains(err.Error(), "gone.yaml: the file cannot be read (file does not exist)") {
		t.Errorf("a missing file gives %v", err)
	}
}

// A broken file does not hide what is wrong in the environment.
func TestBrokenFileDoesNotHideTheRest(t *testing.T) {
	_, err := load(files{"conf.yaml": "listen: 'a"}, "FLAKEPASS_LOG_LEVEL=x", "FLAKEPASS_X=y")
	if err == nil || !strings.HasPrefix(err.Error(), "config: 3 problems:") {
		t.Errorf("got %v, want 3 problems", err)
	}
}

func TestGoodFiles(t *testing.T) {
	for _, text := range []string{
		"", "# nothing\n", "---\n", "\ufefflisten: :1\n", "listen: ':1' # why\n", "{listen: :1}", "---\nlisten: :1\n...\n",
		"listen: :1\r\nlog_level: warn\r\n", "revocation_bound: 90s", "redis: ''", "hash_workers: '4'",
	} {
		if _, err := load(files{"conf.yaml": text}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Whatever a file holds, the answer is a configuration that can be shown or a
// list of problems, and neither holds the password that is in the file.
func FuzzFile(f *testing.F) {
	for _, tt := range badFiles {
		if len(tt.text) < 1000 {
			f.Add(tt.text)
		}
	}
	f.Add("cache_entries: 0\nhash_workers: 0\ndelete_retention: 30d\nissue_methods: [sms, 'oidc:x']\n")
	f.Add("data_dir: \"a\\\n  b\"\ntls_cert: >-\n  x\n")
	f.Add("listen: :1\ntrusted_proxies:\n  - 10.0.0.0/8\n  - ::1\ndatabase: mysql://app:pw@db/x?tls=true\n")
	f.Fuzz(func(t *testing.T, text string) {
		const planted = "database: mysql://app:planted@db/x\n"
		for _, whole := range []string{text, planted + text, text + "\n" + planted} {
			c, err := load(files{"conf.yaml": whole})
			if err == nil {
				if c.Listen == "" || c.Database.Kind == "" || c.RevocationBound <= 0 || c.CacheEntries < 0 {
					t.Fatalf("accepted but incomplete: %+v", c)
				}
				if out := dump(t, c, false) + dump(t, c, true); !strings.Contains(text, "planted") && strings.Contains(out, "planted") {
					t.Fatalf("the password is shown: %s", out)
				}
				continue
			}
			if !strings.Contains(text, "planted") && strings.Contains(err.Error(), "planted") {
				t.Fatalf("the password is in %v", err)
			}
		}
	})
}

// named is where an error says which parameter of a URL is none. Behind an & a password
// looks like one.
var named = regexp.MustCompile(`\w*PLANTED\w* in the URL is none that`)

// However a password is written into a URL, no error holds it, and no dump
// unless the URL's own punctuation puts it elsewhere.
func FuzzURLs(f *testing.F) {
	for _, s := range []string{"", "%", "@", ":", "p:q", "a,b", "é", "%40", "[", " ", "x@h:1/n?"} {
		f.Add(s, "")
		f.Add("", s)
	}
	for before, after := range map[string]string{"&": "=1", "&tls=": "&", ",": "", "%2C": "", "mysql://a@b/c?": "=1"} {
		f.Add(before, after)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		secret := before + "PLANTED" + after
		for variable, forms := range map[string][]string{
			"FLAKEPASS_DATABASE": {"mysql://app:" + secret + "@db:3306/x", secret, "app:" + secret + "@tcp(db)/x", "mysql://app:x@db/x?password=" + secret},
			"FLAKEPASS_REDIS":    {"redis://:" + secret + "@cache/1", "redis+sentinel://u:" + secret + "@a,b/m", "redis+sentinel://a/m?sentinel_password=" + secret, "redis+cluster://:" + secret + "@a", secret},
			"FLAKEPASS_WORKER":   {"zookeeper://u:" + secret + "@a,b/w?key=k", "zookeeper:" + secret, secret},
			// The second fault of the configuration, that SQLite has no replicas, is no matter here.
			"FLAKEPASS_REPLICAS":           {"mysql://app:" + secret + "@copy/x", "mysql://app:x@a/x, mysql://app:" + secret + "@b/x", secret},
			"FLAKEPASS_PUBLIC_URL":         {"https://u:" + secret + "@auth.example.org", "https://auth.example.org/" + secret, secret},
			"FLAKEPASS_SECOND_FACTOR_KEY":  {secret, secret + "," + secret},
			"FLAKEPASS_IMPORT_HOOK_URL":    {"https://u:" + secret + "@old.example.org/x", "https://old.example.org/?key=" + secret, "http://" + secret, secret},
			"FLAKEPASS_IMPORT_HOOK_SECRET": {"whsec_" + secret, secret},
		} {
			for _, v := range forms {
				c, err := load(nil, variable+"="+v)
				switch {
				case err != nil && strings.Contains(named.ReplaceAllString(err.Error(), ""), "PLANTED"):
					t.Fatalf("%q: the password is in %v", v, err)
				case err == nil && !strings.ContainsAny(secret, "/?#&") && v != secret && strings.Contains(dump(t, c, true)+dump(t, c, false), "PLANTED"):
					t.Fatalf("%q: the password is shown: %s", v, dump(t, c, false))
				}
			}
		}
	})
}
