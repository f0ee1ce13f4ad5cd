package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/internal/server/config"
)

// judges say what is wrong with a call of a program in a block. They get its
// arguments, and the variables of flakepass that it was given. A program that is
// not here, and not in tools, may not be used.
var judges = map[string]func(t *testing.T, args, env []string) error{
	"flakepass": judgeFlakepass, "curl": judgeCurl, "make": judgeMake, "go": judgeGo,
	"npx":                       notRun,                                           // internal/proof/interop generates a client so, with a version that is fixed
	"dotnet":                    notRun,                                           // it would install a program of others
	"haveibeenpwned-downloader": notRun,                                           // it would fetch 40 GB
	"sqlite3":                   notRun, "rm": notRun, "cp": notRun, "mv": notRun, // TestBackupOfSQLiteIsRestored runs them
}

// tools are run for what they are.
var tools = []string{"cut", "sha1sum", "sort", "tr"}

// stolen is the list of the words "password" and "letmein".
const stolen = "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8\n" + "b7a875fc1ea228b9061041b7cec4bd3c52ab3ce3\n"

func notRun(*testing.T, []string, []string) error { return nil }

// checkShell runs each block with a shell that finds nothing but tools and, in the
// place of the programs that judges knows, one that writes down how it was called.
func checkShell(t *testing.T, all []block) {
	bin := t.TempDir()
	for _, name := range tools {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	for name := range judges {
		// Control characters, which no command of a document has, keep the parts apart.
		script := fmt.Sprintf("#!/bin/sh\n{ printf '%%s\\037' %s \"$@\"; printf '\\036'; %s; printf '\\035'; } >>\"$CALLS\"\n", name, env)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range all {
		dir := t.TempDir()
		calls := filepath.Join(dir, "calls")
		for file, text := range map[string]string{calls: "", filepath.Join(dir, "words.txt"): "password\r\nletmein"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-euc", commandsOf(b.text))
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin, "CALLS=" + calls, "TOKEN=t", "ADMIN_TOKEN=t"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", b.at, err, out)
		}
		if list, err := os.ReadFile(filepath.Join(dir, "list.txt")); err == nil && string(list) != stolen {
			t.Errorf("%s: the list is %q; want %q", b.at, list, stolen)
		}
		text, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		for call := range strings.SplitSeq(strings.TrimSuffix(string(text), "\035"), "\035") {
			line, env, _ := strings.Cut(call, "\036")
			words := strings.Split(strings.TrimSuffix(line, "\037"), "\037")
			if words[0] == "" {
				continue // the block calls tools only
			}
			ours := slices.DeleteFunc(strings.Split(env, "\n"), func(v string) bool { return !strings.HasPrefix(v, "FLAKEPASS_") })
			if err := judges[words[0]](t, words[1:], ours); err != nil {
				t.Errorf("%s: %q: %v", b.at, words, err)
			}
		}
	}
}

// commandsOf is what a person types: all of the block or, where lines begin with
// "$ ", these and those that go on from them. The rest is what is answered.
func commandsOf(text string) string {
	if !strings.HasPrefix(text, "$ ") {
		return text
	}
	var typed strings.Builder
	goesOn := false
	for line := range strings.Lines(text) {
		command, begins := strings.CutPrefix(line, "$ ")
		if begins || goesOn {
			typed.WriteString(command)
			goesOn = strings.HasSuffix(line, "\\\n")
		}
	}
	return typed.String()
}

// judgeFlakepass has the program's own parser read the line, and its own loader
// the settings.
func judgeFlakepass(_ *testing.T, args, env []string) error {
	if _, err := config.Load(config.Options{Environ: append(env, "HOME=/nobody")}); err != nil {
		return err
	}
	helped := false
	parser, err := kong.New(&commands{}, kong.Bind(&app{}), kong.Vars{"version": "x"}, kong.Exit(func(int) { helped = true }))
	if err != nil {
		return err
	}
	if _, err = parser.Parse(args); helped {
		return nil
	}
	return err
}

var makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):`)

func judgeMake(_ *testing.T, args, _ []string) error {
	text, err := os.ReadFile("../../../Makefile")
	if err != nil {
		return err
	}
	var targets []string
	for _, m := range makeTarget.FindAllSubmatch(text, -1) {
		targets = append(targets, string(m[1]))
	}
	for _, arg := range args {
		if name, _, set := strings.Cut(arg, "="); set && !regexp.MustCompile(`(?m)^`+name+` *\?=`).Match(text) {
			return fmt.Errorf("the Makefile has no variable %s", name)
		} else if !set && !slices.Contains(targets, arg) {
			return fmt.Errorf("the Makefile has no target %s", arg)
		}
	}
	return nil
}

// judgeGo knows "go run ./folder".
func judgeGo(t *testing.T, args, env []string) error {
	if len(args) < 2 || args[0] != "run" {
		return fmt.Errorf("nothing checks this command of go; add what does to judgeGo")
	}
	if _, err := os.Stat(filepath.Join("../../..", args[1], "main.go")); err != nil {
		return err
	}
	if args[1] == "./cmd/flakepass" {
		return judgeFlakepass(t, args[2:], env)
	}
	return nil
}

// judgeCurl holds a request to the contract: its path and method, and its body.
func judgeCurl(_ *testing.T, args, _ []string) error {
	method, body, form, target := "", "", "", ""
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case i+1 < len(args) && arg == "-X":
			i, method = i+1, args[i+1]
		case i+1 < len(args) && arg == "-d":
			i, body = i+1, args[i+1]
		case i+1 < len(args) && arg == "--data-urlencode":
			i, form = i+1, args[i+1]
		case i+1 < len(args) && (arg == "-H" || arg == "-u"):
			i++
		case !strings.HasPrefix(arg, "-"):
			target = arg
		case arg != "-s" && arg != "-si":
			return fmt.Errorf("nothing checks %s here; add what does to judgeCurl", arg)
		}
	}
	if method == "" {
		method = map[bool]string{true: "GET", false: "POST"}[body+form == ""]
	}
	u, err := url.Parse("http://" + target)
	if err != nil {
		return err
	}
	spec, err := openapi3.NewLoader().LoadFromData(api.Spec())
	if err != nil {
		return err
	}
	for path, item := range spec.Paths.Map() {
		same := regexp.MustCompile("^" + regexp.MustCompile(`\{[a-z_]+\}`).ReplaceAllString(path, "[^/]+") + "$").MatchString(u.Path)
		if operation := item.GetOperation(method); same && operation != nil {
			if form != "" {
				return judgeForm(operation, form)
			}
			return judgeBody(operation, body)
		}
	}
	return fmt.Errorf("api/openapi.yaml has no %s %s", method, u.Path)
}

// judgeForm judges one parameter of a form.
func judgeForm(operation *openapi3.Operation, form string) error {
	if operation.RequestBody == nil || operation.RequestBody.Value.Content["application/x-www-form-urlencoded"] == nil {
		return fmt.Errorf("takes no form")
	}
	name, value, _ := strings.Cut(form, "=")
	known := operation.RequestBody.Value.Content["application/x-www-form-urlencoded"].Schema.Value.Properties[name]
	if known == nil {
		return fmt.Errorf("a form has no %s", name)
	}
	return known.Value.VisitJSON(value)
}

func judgeBody(operation *openapi3.Operation, body string) error {
	if body == "" {
		return nil
	}
	if operation.RequestBody == nil {
		return fmt.Errorf("takes no body")
	}
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return err
	}
	return operation.RequestBody.Value.Content["application/json"].Schema.Value.VisitJSON(value)
}
