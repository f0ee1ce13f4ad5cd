package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// counting is the running program whose counters can be read.
type counting struct {
	dir     string
	address string
	control *http.Client // speaks to the file that was added
	end     func() error
}

var apiAddress = regexp.MustCompile(`API +http://(\S+)`)

func startCounting(ctx context.Context, program, dir string) (*counting, error) {
	socket := filepath.Join(dir, "control")
	cmd := exec.CommandContext(ctx, program, "serve")
	cmd.Dir = dir
	// GOCOVERDIR only keeps the program from complaining at its end.
	cmd.Env = []string{"FLAKEPASS_LISTEN=127.0.0.1:0", "FLAKEPASS_OPS_LISTEN=127.0.0.1:0", "FLAKEPASS_DATA_DIR=" + filepath.Join(dir, "data"),
		"WAY_SOCKET=" + socket, "GOCOVERDIR=" + dir}
	out, err := os.Create(filepath.Join(dir, "out")) //nolint:gosec // in the caller's folder
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	p := &counting{dir: dir, end: func() error { return errors.Join(cmd.Process.Kill(), cmd.Wait(), out.Close()) }}
	p.control = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	for p.address == "" || !p.ready(ctx) {
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.end())
		case <-time.After(20 * time.Millisecond):
		}
		text, _ := os.ReadFile(out.Name())
		if found := apiAddress.FindSubmatch(text); found != nil {
			p.address = string(found[1])
		}
	}
	return p, nil
}

// ready reports whether the program answers questions about tokens: one of no login is 401.
func (p *counting) ready(ctx context.Context) bool {
	_, err := p.ask(ctx, http.MethodGet, "/v1/me", "", "")
	return err != nil && strings.Contains(err.Error(), ": 401 ")
}

func (p *counting) stop() { _ = p.end() } // killed, as it should be

// ask sends a request and returns the body of an answer in the 200s.
func (p *counting) ask(ctx context.Context, method, path, body, token string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return do(&http.Client{Timeout: time.Minute}, r)
}

func do(client *http.Client, r *http.Request) ([]byte, error) {
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		return nil, fmt.Errorf("measure: %s %s: %s %s", r.Method, r.URL.Path, answer.Status, text)
	}
	return text, nil
}

// way is the files that run each time that request is called.
func (p *counting) way(ctx context.Context, request func() error) (Way, error) {
	if err := request(); err != nil { // what is cold the first time
		return nil, err
	}
	var way Way
	for n := range windows {
		dir, err := os.MkdirTemp(p.dir, "window-")
		if err != nil {
			return nil, err
		}
		if err := errors.Join(p.counters(ctx, ""), request(), p.counters(ctx, dir)); err != nil {
			return nil, err
		}
		ran, err := filesOf(ctx, dir)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			way = ran
		}
		way = slices.DeleteFunc(way, func(file string) bool { return !slices.Contains(ran, file) })
	}
	return way, nil
}

// counters clears the counters if dir is empty, and writes them there otherwise.
func (p *counting) counters(ctx context.Context, dir string) error {
	query := url.Values{}
	if dir != "" {
		query.Set("write", dir)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://control/?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	_, err = do(p.control, r)
	return err
}

// filesOf reads which files have a counter above 0.
func filesOf(ctx context.Context, dir string) (Way, error) {
	text := filepath.Join(dir, "text")
	cmd := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i", dir, "-o", text) //nolint:gosec // our own folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("measure: covdata: %w\n%s", err, out)
	}
	counts, err := os.ReadFile(text) //nolint:gosec // written above
	if err != nil {
		return nil, err
	}
	var files Way
	for line := range bytes.Lines(counts) {
		file, rest, ok := strings.Cut(string(bytes.TrimSpace(line)), ":")
		if !ok || strings.HasSuffix(rest, " 0") || file == "mode" {
			continue
		}
		files = append(files, strings.TrimPrefix(file, ourModule))
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
