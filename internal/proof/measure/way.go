package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Way is the files that ran for one request, sorted, as "folder/file.go" below the root.
type Way []string

// Packages is the folders of the files.
func (w Way) Packages() []string {
	var all []string
	for _, file := range w {
		all = append(all, path.Dir(file))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	ourModule = "github.com/flakepass/flakepass/"
	// Work in the background falls into some windows and not into all: it is in no
	// way unless it ran in every one of so many.
	windows = 15
	aPerson = `{"username":"somebody","password":"correct horse battery staple"}`
)

// Ways runs the program of the repository in root, with nothing configured, in the
// empty folder dir, and returns which files run for a warm GET /v1/me and for a
// POST /v1/login. The program counts what runs (go build -cover); its counters are
// cleared before each request and read after it.
func Ways(ctx context.Context, root, dir string) (me, login Way, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	program, err := buildCounting(ctx, root, dir)
	if err != nil {
		return nil, nil, err
	}
	p, err := startCounting(ctx, program, dir)
	if err != nil {
		return nil, nil, err
	}
	defer p.stop()
	if _, err := p.ask(ctx, http.MethodPost, "/v1/register", aPerson, ""); err != nil {
		return nil, nil, err
	}
	login, err = p.way(ctx, func() error {
		_, err := p.ask(ctx, http.MethodPost, "/v1/login", aPerson, "")
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var opened struct {
		Token string `json:"token"`
	}
	text, err := p.ask(ctx, http.MethodPost, "/v1/login", aPerson, "")
	if err == nil {
		err = json.Unmarshal(text, &opened)
	}
	if err != nil {
		return nil, nil, err
	}
	me, err = p.way(ctx, func() error {
		_, err := p.ask(ctx, http.MethodGet, "/v1/me", "", opened.Token)
		return err
	})
	return me, login, err
}

// control is a file more in the program: it clears and writes the counters when it
// is asked to. It stands in migrations, where nothing is counted: the go command
// cannot count in a package that has a file of an overlay, and no request passes
// through that one.
const control = `package migrations

import (
	"net"
	"net/http"
	"os"
	"runtime/coverage"
)

func init() {
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		return
	}
	l, err := net.Listen("unix", os.Getenv("WAY_SOCKET"))
	if err != nil {
		panic(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dir := r.URL.Query().Get("write")
		if dir == "" {
			if err := coverage.ClearCounters(); err != nil {
				http.Error(w, err.Error(), 500)
			}
			return
		}
		err := coverage.WriteMetaDir(dir)
		if err == nil {
			err = coverage.WriteCountersDir(dir)
		}
		if err != nil {
			http.Error(w, err.Error(), 500)
		}
	}))
}
`

func buildCounting(ctx context.Context, root, dir string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	added := filepath.Join(dir, "control.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "migrations/way_control.go"): added}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(added, []byte(control), 0o600), os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)); err != nil {
		return "", err
	}
	packages, err := goCommand(workspace, root, "list", "-tags", "nomsgpack", "-deps", "./cmd/flakepass")
	if err != nil {
		return "", err
	}
	counted := slices.DeleteFunc(strings.Fields(packages), func(p string) bool {
		return !strings.HasPrefix(p, ourModule) || p == ourModule+"migrations"
	})
	program := filepath.Join(dir, "flakepass")
	//nolint:gosec // the folders are the caller's
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "nomsgpack", "-overlay", filepath.Join(dir, "overlay.json"), "-cover", "-covermode", "atomic",
		"-coverpkg", strings.Join(counted, ","), "-o", program, "./cmd/flakepass")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("measure: go build: %w\n%s", err, out)
	}
	return program, nil
}
