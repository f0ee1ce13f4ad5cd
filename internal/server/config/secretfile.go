package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// readSecret reads the file that holds a secret.
func (l *loader) readSecret(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path of the file is empty; give one, or remove the setting")
	}
	if strings.Contains(path, "://") || strings.HasPrefix(path, SQLite+":") {
		return "", errors.New("this is not a path; give the path of a file that holds the value, or use the setting without _FILE")
	}
	data, err := l.opts.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read %s (%s); check the path and who may read it", quoted(path), cause(err))
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("%s is longer than %d KiB, so it cannot hold a secret; name another file", quoted(path), maxFile>>10)
	}
	v := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if v == "" {
		return "", fmt.Errorf("%s is empty; write the value into it, or remove the setting", quoted(path))
	}
	return v, nil
}

// readFile reads at most one byte more than is allowed, so that a device
// without an end is found out.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// cause is why a file could not be read, without the path.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return "reading failed"
}
