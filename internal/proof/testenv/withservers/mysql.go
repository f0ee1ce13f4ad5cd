//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// prepareMySQL uses the mysqld on PATH if it is MySQL 8.4 or newer, and the one
// that install.sh unpacked otherwise.
func prepareMySQL(ctx context.Context, dir string) (plan, error) {
	program, version, err := findMySQL(ctx)
	if err != nil {
		return plan{}, err
	}
	// The redo log is 100 MB otherwise, made anew with every data folder.
	const size = "--innodb-redo-log-capacity=32M"
	program = append(append(program, size), asUser()...)

	err = fill(ctx, dir, "mysql", []string{version, size}, func(data, scratch string) error {
		return initialize(ctx, scratch, program[0], append(program[1:], "--initialize-insecure", "--datadir="+data)...)
	})
	if err != nil {
		return plan{}, err
	}
	// The identity of the template: with it, no copy could follow another. The
	// server makes itself one of its own.
	if err := os.Remove(filepath.Join(dir, "data", "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return plan{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "init.sql"), []byte(initSQL), 0o600); err != nil {
		return plan{}, err
	}
	return plan{
		version: version,
		path:    program[0],
		args: func(port int) ([]string, error) {
			args := append(program[1:len(program):len(program)], sqlArgs(dir, port)...)
			// The X protocol would listen on a fixed port; the other names a
			// folder that only an installed package makes.
			return append(args, "--mysqlx=OFF", "--secure-file-priv=NULL"), nil
		},
		// Without the binary log a commit is written once.
		hasty:   append(hastySQL(), "--sync-binlog=0", "--skip-log-bin"),
		address: sqlAddress,
		ready:   sqlReady(dir),
	}, nil
}

// findMySQL returns a command line, with --no-defaults in the place it has to
// have, to which mysqld's arguments can be added, and the version.
func findMySQL(ctx context.Context) (program []string, version string, err error) {
	if path, err := exec.LookPath("mysqld"); err == nil {
		if version, err := output(ctx, path, "--no-defaults", "--version"); err == nil && isMySQL84(version) {
			return []string{path, "--no-defaults"}, short(version), nil
		}
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, "", err
	}
	root := filepath.Join(cache, "mysql")
	// Its C library is newer than the machine's, so its own loader runs it.
	loaders, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*/ld-linux*.so.*"))
	if err != nil {
		return nil, "", err
	}
	if len(loaders) == 0 {
		return nil, "", fmt.Errorf("MySQL 8.4 or newer: %w", errAbsent)
	}
	lib := filepath.Dir(loaders[0])
	program = []string{
		loaders[0], "--library-path", lib + ":" + filepath.Join(lib, "perftools"),
		filepath.Join(root, "usr/sbin/mysqld"), "--no-defaults",
	}
	version, err = output(ctx, program[0], append(program[1:], "--version")...)
	if err != nil {
		return nil, "", err
	}
	program = append(program,
		"--basedir="+filepath.Join(root, "usr"),
		"--lc-messages-dir="+filepath.Join(root, "usr/share/mysql"),
		"--character-sets-dir="+filepath.Join(root, "usr/share/mysql/charsets"),
		"--plugin-dir="+filepath.Join(root, "usr/lib/mysql/plugin"),
	)
	return program, short(version), nil
}

var versionNumber = regexp.MustCompile(` Ver (\d+)\.(\d+)\.`)

// isMySQL84 reports whether the words that mysqld --version prints are those of
// MySQL 8.4 or newer. MariaDB's program has the same name.
func isMySQL84(version string) bool {
	m := versionNumber.FindStringSubmatch(version)
	if m == nil || strings.Contains(version, "MariaDB") {
		return false
	}
	major, _ := strconv.Atoi(m[1]) // the pattern lets only digits through
	minor, _ := strconv.Atoi(m[2])
	return major > 8 || major == 8 && minor >= 4
}

// short leaves the program's path out of a version.
func short(version string) string {
	if _, after, ok := strings.Cut(version, " Ver "); ok {
		return "mysqld " + after
	}
	return version
}
