package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/flakepass/flakepass/api/flakepass"
)

// A target is a server elsewhere, and the token with which it is called.
type target struct {
	URL      string
	Username string // empty if the environment says which server
	Token    flakepass.Token
}

// misuse is a command line or an environment that cannot be used: exit code 2.
type misuse string

func (m misuse) Error() string { return string(m) }

// Variables that go before the file.
const (
	remoteURL       = "FLAKEPASS_REMOTE_URL"
	remoteToken     = "FLAKEPASS_REMOTE_TOKEN"
	remoteTokenFile = "FLAKEPASS_REMOTE_TOKEN_FILE"
)

// errNotLoggedIn says what to do first.
var errNotLoggedIn = errors.New("not logged in to a server; say `flakepass remote login URL NAME` first")

// findTarget is what the environment says, or the file. Never a part of each: a
// token must not go to a server that it is not of.
func findTarget() (target, error) {
	where, url := os.LookupEnv(remoteURL)
	text, token := os.LookupEnv(remoteToken)
	path, file := os.LookupEnv(remoteTokenFile)
	switch {
	case !url && !token && !file:
		return readTarget()
	case token && file:
		return target{}, misuse(remoteToken + " and " + remoteTokenFile + " are both set; unset one of the two")
	case !url || !token && !file:
		return target{}, misuse("set " + remoteURL + " together with " + remoteToken + " or " + remoteTokenFile + ", or none of them")
	case file:
		b, err := os.ReadFile(path) //nolint:gosec // the user of the command names it
		if err != nil {
			return target{}, misuse(remoteTokenFile + ": " + err.Error())
		}
		text = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	}
	t, err := flakepass.ParseToken(text)
	if err != nil {
		return target{}, misuse("the token in " + map[bool]string{true: remoteTokenFile, false: remoteToken}[file] + " is none; it begins with fp_")
	}
	return target{URL: where, Token: t}, nil
}

// checkURL refuses what is no URL of a server, and one over which others could
// read the token on its way.
func checkURL(text string, insecure bool) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return misuse("the URL of the server is one such as https://auth.example.org, without a user, a query or a fragment")
	}
	if u.Scheme == "https" || insecure || loopback(u.Hostname()) {
		return nil
	}
	return misuse(fmt.Sprintf("over http:// the password and the token can be read on the way to %s. Use https://, or say --insecure if the network is safe",
		printable(u.Host)))
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// targetPath is where the login is kept.
func targetPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("nowhere to keep the login: %w; set %s and %s instead", err, remoteURL, remoteTokenFile)
	}
	return filepath.Join(dir, "flakepass", "remote.json"), nil
}

// A targetFile is a target as its file has it. It is the one place beside the
// Authorization header that has the token's text.
type targetFile struct {
	URL      string `json:"url"`
	Username string `json:"username"`
	Token    string `json:"token"`
}

func readTarget() (target, error) {
	path, err := targetPath()
	if err != nil {
		return target{}, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target{}, errNotLoggedIn
	case err != nil:
		return target{}, err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return target{}, fmt.Errorf("others may read the token in %s; say `chmod 600` for it, and log in anew if they could have", path)
	}
	b, err := os.ReadFile(path) //nolint:gosec // of this user's configuration
	if err != nil {
		return target{}, err
	}
	return parseTarget(path, b)
}

// parseTarget repeats nothing of what it reads.
func parseTarget(path string, b []byte) (target, error) {
	var f targetFile
	err := json.Unmarshal(b, &f)
	t, bad := flakepass.ParseToken(f.Token)
	if err != nil || bad != nil || checkURL(f.URL, true) != nil || f.Username == "" {
		return target{}, fmt.Errorf("%s is damaged; remove it, and say `flakepass remote login URL NAME`", path)
	}
	return target{f.URL, f.Username, t}, nil
}

func writeTarget(t target) error {
	path, err := targetPath()
	if err != nil {
		return err
	}
	return writePrivate(path, targetFile{t.URL, t.Username, t.Token.Reveal()})
}

// writePrivate replaces a file as a whole, so that no other command finds half of
// one. Only its owner may read it, from the first byte on.
func writePrivate(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".remote-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // nothing is there once it was renamed
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// forgetTarget removes the file.
func forgetTarget() error {
	path, err := targetPath()
	if err != nil {
		return err
	}
	return os.Remove(path)
}
