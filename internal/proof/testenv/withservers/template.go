//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cacheDir is where install.sh puts MySQL, and where fresh data folders are
// kept to be copied.
func cacheDir() (string, error) {
	if dir := os.Getenv("FLAKEPASS_TEST_CACHE"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".cache", "flakepass-test"), nil
}

// fill makes dir/data a fresh data folder. Making one takes seconds, copying
// one a fraction of that, so initialize makes a template once for each key: the
// server's version and the arguments it was made with. What it needs besides goes
// to scratch, which no other template shares and which is removed.
func fill(ctx context.Context, dir, name string, key []string, initialize func(data, scratch string) error) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(strings.Join(key, "\x00")))
	template := filepath.Join(cache, "templates", fmt.Sprintf("%s-%x", name, sum[:6]))
	if _, err := os.Stat(template); errors.Is(err, fs.ErrNotExist) {
		err = makeTemplate(template, initialize)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	// cp keeps modes and holes, which os.CopyFS does not: MySQL's undo logs and
	// private keys need them.
	_, err = output(ctx, "cp", "-a", template, filepath.Join(dir, "data"))
	return err
}

// makeTemplate makes a template under another name and renames it, so that a folder
// with the template's name is always whole. Two runs may do so at once: the
// second rename fails, and the first one's work serves both.
func makeTemplate(template string, initialize func(data, scratch string) error) error {
	if err := os.MkdirAll(filepath.Dir(template), 0o700); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(template), "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	data := filepath.Join(scratch, "data")
	if err := initialize(data, scratch); err != nil {
		return err
	}
	err = os.Rename(data, template)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
