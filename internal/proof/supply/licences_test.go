package supply

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// allowed are the licences that a dependency may have, by their SPDX names, and
// what they demand of those who pass the program on. One that is not here is a
// decision, not a detail: ask before adding it.
var allowed = map[string]string{
	"Apache-2.0":   "the text, and NOTICE if there is one",
	"BSD-2-Clause": "the text",
	"BSD-3-Clause": "the text",
	"MIT":          "the text",
	"MPL-2.0":      "the text, and where the source of these very files is: the module at its version, unchanged",
}

var (
	row         = regexp.MustCompile(`(?m)^\| ([^ |]+) \| ([^ |]+) \| ([^|]+) \|$`)
	licenceFile = regexp.MustCompile(`(?i)licen[cs]e|^copying|^copyright|^notice`)
)

const line = "================================================================================\n"

// TestLicencesOfWhatIsShipped holds docs/licences.md and the texts that the
// program carries to what is linked into it. make licences writes both.
func TestLicencesOfWhatIsShipped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page is about the program for Linux")
	}
	linked := modules(t)
	page, texts := filepath.Join(root(t), "docs", "licences.md"), filepath.Join(root(t), "internal", "server", "release", "licences.txt")
	if *update {
		write(t, page, table(linked, classify(t)))
		write(t, texts, licenceTexts(t, linked))
	}
	listed := make(map[string]string)
	for _, m := range row.FindAllStringSubmatch(read(t, page), -1) {
		if m[1] == "module" {
			continue
		}
		listed[m[1]] = m[2]
		for licence := range strings.SplitSeq(m[3], ", ") {
			if allowed[licence] == "" {
				t.Errorf("%s has the licence %q, which is not among those that a dependency may have", m[1], licence)
			}
		}
	}
	for module, version := range linked {
		if listed[module] != version {
			t.Errorf("docs/licences.md has %s at %q, the program at %s; run: make licences", module, listed[module], version)
		}
	}
	for module := range listed {
		if linked[module] == "" {
			t.Errorf("docs/licences.md lists %s, which is not in the program; run: make licences", module)
		}
	}
	if read(t, texts) != licenceTexts(t, linked) {
		t.Error("internal/server/release/licences.txt has not the texts of these versions; run: make licences")
	}
	if got := mustRun(t, t.TempDir(), environment(), program(t), "version", "--licences"); !*update && got != read(t, texts) {
		t.Error("flakepass version --licences prints something else than internal/server/release/licences.txt")
	}
}

// classify asks go-licenses for the licences of each module. A module that has
// files under several licences has all of them.
func classify(t *testing.T) map[string][]string {
	t.Helper()
	template := filepath.Join(t.TempDir(), "rows")
	write(t, template, "{{range .}}row {{.LicensePath}} {{.LicenseName}}\n{{end}}")
	out := mustRun(t, root(t), environment("GOFLAGS=-tags=nomsgpack", "CGO_ENABLED=0"),
		tool(t, "go-licenses", "github.com/google/go-licenses/v2"), "report", "--template", template, "./cmd/flakepass")
	found := make(map[string][]string)
	folders := folders(t)
	for said := range strings.Lines(out) {
		fields := strings.Fields(said)
		if len(fields) != 3 || fields[0] != "row" {
			continue
		}
		for module, folder := range folders {
			if strings.HasPrefix(fields[1], folder+string(filepath.Separator)) && !slices.Contains(found[module], fields[2]) {
				found[module] = append(found[module], fields[2])
				slices.Sort(found[module])
			}
		}
	}
	return found
}

// folders is where the source of each module is on this machine.
func folders(t *testing.T) map[string]string {
	t.Helper()
	folders := make(map[string]string)
	out := mustRun(t, root(t), environment("GOFLAGS=-tags=nomsgpack", "CGO_ENABLED=0"),
		"go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/flakepass")
	for said := range strings.Lines(out) {
		if module, folder, ok := strings.Cut(strings.TrimSpace(said), " "); ok {
			folders[module] = folder
		}
	}
	return folders
}

// table is the text of docs/licences.md.
func table(linked map[string]string, licences map[string][]string) string {
	var page strings.Builder
	page.WriteString("# Licences of the modules in the program\n\n" +
		"For distributors: flakepass is under the Apache License 2.0 ([LICENSE](../LICENSE)). These modules are linked into `bin/flakepass`,\n" +
		"and so is Go's standard library (BSD-3-Clause). `flakepass version --licences` prints their texts. Modules of tests and tools\n" +
		"are not listed, because they are not distributed. `make licences` writes this page. A test fails when it is outdated or\n" +
		"when a licence is not one of: " + strings.Join(slices.Sorted(maps.Keys(allowed)), ", ") + ".\n\n" +
		"The source of a module under MPL-2.0 is at `https://pkg.go.dev/MODULE@VERSION`; it is used unchanged.\n\n" +
		"| module | version | licence |\n|---|---|---|\n")
	for _, module := range slices.Sorted(maps.Keys(linked)) {
		fmt.Fprintf(&page, "| %s | %s | %s |\n", module, linked[module], cmp.Or(strings.Join(licences[module], ", "), "unknown"))
	}
	return page.String()
}

// licenceTexts is the text of internal/server/release/licences.txt: each text once, under
// the names of all that have it. It reads the module cache, so that a text
// cannot stay behind when a version moves on.
func licenceTexts(t *testing.T, linked map[string]string) string {
	t.Helper()
	holders, order := make(map[string][]string), []string{}
	add := func(holder, text string) {
		text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
		if holders[text] == nil {
			order = append(order, text)
		}
		if !slices.Contains(holders[text], holder) {
			holders[text] = append(holders[text], holder)
		}
	}
	add("flakepass", read(t, filepath.Join(root(t), "LICENSE")))
	goroot := strings.TrimSpace(mustRun(t, root(t), environment(), "go", "env", "GOROOT"))
	add("Go's standard library", read(t, filepath.Join(goroot, "LICENSE")))
	folders := folders(t)
	for _, module := range slices.Sorted(maps.Keys(linked)) {
		files := textsOf(t, folders[module])
		for _, file := range files {
			add(module+" "+linked[module], read(t, file))
		}
		if len(files) == 0 {
			t.Errorf("%s: no file with a licence in %s", module, folders[module])
		}
	}
	var all strings.Builder
	all.WriteString("The licences of what is in the program flakepass. Each text stands once, under the names of all that have it.\n" +
		"The source of each module is at https://pkg.go.dev/MODULE@VERSION.\n")
	for _, text := range order {
		all.WriteString("\n" + line + strings.Join(holders[text], "\n") + "\n" + line + "\n" + text + "\n")
	}
	return all.String()
}

// textsOf is the files of a module that hold a licence: those at its top, and
// those of code from others that it has in folders of its own.
func textsOf(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch base := entry.Name(); {
		case entry.IsDir() && name != folder && (base == "testdata" || base[0] == '.' || base[0] == '_'):
			return filepath.SkipDir
		case entry.IsDir() || !licenceFile.MatchString(base) || slices.Contains([]string{".go", ".json", ".py", ".sh", ".yml", ".yaml", ".html"}, filepath.Ext(base)):
		default:
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
