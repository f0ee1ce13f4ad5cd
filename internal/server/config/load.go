package config

import (
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options say where settings come from.
type Options struct {
	File     string                            // path of the YAML file; empty means none
	Environ  []string                          // NAME=value as from os.Environ; nil means os.Environ
	ReadFile func(path string) ([]byte, error) // reads the file, and those that hold secrets; nil means the file system
}

// An origin says where an effective value comes from.
type origin struct {
	from   string // default, environment or file
	detail string // the line in the file, or the variable that named a secret's file
}

// A source is one place that gives a value to a setting.
type source struct {
	origin
	at    Problem // where a problem with it is; its Text is empty
	value string
	path  bool // value names the file that holds the value
}

// loader is the state of one Load.
type loader struct {
	opts     Options
	env      map[string]string
	file     map[string]found
	table    []setting
	config   Config
	wrong    map[string]bool // file keys of the settings with a problem
	problems Problems
}

// Load reads every setting: a variable of the environment wins over a key of
// the file, and that over the default. A secret may be given as the path of a
// file that holds it (NAME_FILE, or key_file), of which a byte order mark and one line break at the
// end are dropped; giving both is a problem. A variable that is set to the
// empty text counts as set.
//
// If anything is wrong Load returns [Problems] that lists all of it.
func Load(o Options) (Config, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.ReadFile == nil {
		o.ReadFile = readFile
	}
	l := &loader{
		opts: o, env: environment(o.Environ), file: map[string]found{},
		config: Config{origins: map[string]origin{}}, wrong: map[string]bool{},
	}
	l.table = settings(&l.config)
	l.readConfigFile()
	for _, s := range l.table {
		l.set(s)
	}
	l.checkTogether()
	l.checkUnknown()
	if len(l.problems) > 0 {
		return Config{}, l.problems
	}
	return l.config, nil
}

// set gives one setting its value, or notes what is wrong with it.
func (l *loader) set(s setting) {
	src, given := l.find(s)
	if l.wrong[s.key] {
		return
	}
	if !given {
		if s.derive != nil {
			s.derive()
		} else if err := s.value.set(s.def); err != nil {
			panic("config: the default of " + s.key + " is wrong: " + err.Error()) // a mistake in the table
		}
		return
	}
	if src.path {
		value, err := l.readSecret(src.value)
		if err != nil {
			l.fail(s, src.at, err.Error())
			return
		}
		src.value = value
	}
	if text := unfit(s, src.value); text != "" {
		l.fail(s, src.at, text)
		return
	}
	if err := s.value.set(src.value); err != nil {
		l.fail(s, src.at, err.Error())
		return
	}
	l.config.origins[s.key] = src.origin
}

// find is the place that wins: environment over file.
func (l *loader) find(s setting) (source, bool) {
	value, direct := l.env[s.variable()]
	path, named := l.env[s.fileVariable()]
	at := Problem{Variable: s.variable()}
	switch {
	case s.secret && direct && named:
		l.fail(s, at, fmt.Sprintf("%s is set too; unset one of the two", s.fileVariable()))
		return source{}, false
	case s.secret && named:
		at.Variable = s.fileVariable()
		return source{origin{"environment", s.fileVariable()}, at, path, true}, true
	case direct:
		return source{origin{"environment", ""}, at, value, false}, true
	}

	inline, direct := l.file[s.key]
	file, named := l.file[s.fileKey()]
	if s.secret && direct && named {
		l.fail(s, l.place(s, inline), fmt.Sprintf("%s is set too, on line %d; remove one of the two", file.key, file.line))
		return source{}, false
	}
	f := inline
	if named = named && s.secret; named {
		f = file
	} else if !direct {
		return source{}, false
	}
	value, text := f.textFor(s)
	if text != "" {
		l.fail(s, l.place(s, f), text)
		return source{}, false
	}
	return source{origin{"file", fmt.Sprintf("line %d", f.line)}, l.place(s, f), value, named}, true
}

func (l *loader) place(s setting, f found) Problem {
	p := Problem{Variable: s.variable(), File: l.opts.File, Key: f.key, Line: f.line}
	if f.key == s.fileKey() {
		p.Variable = s.fileVariable()
	}
	return p
}

func (l *loader) fail(s setting, at Problem, text string) {
	l.wrong[s.key] = true
	at.Text = text
	l.problems = append(l.problems, at)
}

// unfit says what is wrong with a value whatever its setting.
func unfit(s setting, v string) string {
	switch {
	case v == "" && !s.empty:
		return "the value is empty; give one, or remove the setting to get the default (" + strings.ReplaceAll(s.def, "`", "") + ")"
	case !utf8.ValidString(v):
		return "the value is not UTF-8; write it as UTF-8"
	case strings.ContainsFunc(v, unicode.IsControl):
		return "the value holds a line break or another control character; remove it"
	case strings.TrimSpace(v) != v:
		return "the value begins or ends with a space; remove it"
	}
	return ""
}

// keys are all keys that a file may hold.
func (l *loader) keys() []string {
	var keys []string
	for _, s := range l.table {
		keys = append(keys, s.key)
		if s.secret {
			keys = append(keys, s.fileKey())
		}
	}
	return keys
}

// checkTogether notes settings that are right alone and wrong together.
func (l *loader) checkTogether() {
	c := &l.config
	if !l.wrong["worker"] {
		worker := Problem{Variable: prefix + "WORKER"}
		switch {
		// Each machine would lock a file of its own, and all get number 0.
		case c.Worker.Kind == WorkerFile && c.Database.Kind == MySQL:
			worker.Text = "file is for SQLite on one machine; write sql or static:N"
		case c.Worker.Kind == WorkerRedis && c.Redis.IsZero() && !l.wrong["redis"]:
			worker.Text = "redis is the one that " + prefix + "REDIS names, and that is empty; set it, or write sql"
		}
		if worker.Text != "" {
			l.problems = append(l.problems, worker)
		}
	}
	if len(c.Replicas) > 0 && c.Database.Kind != MySQL && !l.wrong["database"] {
		l.problems = append(l.problems, Problem{Variable: prefix + "REPLICAS",
			Text: "SQLite has no replicas; leave it empty, or set " + prefix + "DATABASE to the MySQL that they are copies of"})
	}
	if cert, key := c.TLSCert != "", c.TLSKey != ""; cert != key && !l.wrong["tls_cert"] && !l.wrong["tls_key"] {
		l.lonely(cert, "TLS_CERT", "TLS_KEY")
	}
	// A hook that cannot be asked, or a secret for none.
	if url, secret := c.ImportHookURL != "", !c.ImportHookSecret.IsZero(); url != secret && !l.wrong["import_hook_url"] && !l.wrong["import_hook_secret"] {
		l.lonely(url, "IMPORT_HOOK_URL", "IMPORT_HOOK_SECRET")
	}
	l.checkSecondFactor()
	if l.wrong["listen"] || l.wrong["ops_listen"] {
		return
	}
	if c.Listen == c.OpsListen && !strings.HasSuffix(c.Listen, ":0") {
		l.problems = append(l.problems, Problem{Variable: prefix + "OPS_LISTEN",
			Text: "this is the address of " + prefix + "LISTEN too (" + quoted(c.Listen) + "); give the two different ports"})
	}
}

// lonely notes that of two settings one alone is set: the first, or else the second.
func (l *loader) lonely(first bool, given, missing string) {
	if !first {
		given, missing = missing, given
	}
	l.problems = append(l.problems, Problem{Variable: prefix + missing, Text: prefix + given + " is set and this is not; set both, or neither"})
}
