//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func prepareMariaDB(ctx context.Context, dir string) (plan, error) {
	path, err := exec.LookPath("mariadbd")
	if err != nil {
		return plan{}, fmt.Errorf("mariadbd: %w", errAbsent)
	}
	installer, err := exec.LookPath("mariadb-install-db")
	if err != nil {
		return plan{}, fmt.Errorf("mariadb-install-db: %w", errAbsent)
	}
	version, err := output(ctx, path, "--no-defaults", "--version")
	if err != nil {
		return plan{}, err
	}
	// The redo log is 96 MB otherwise, made anew with every data folder.
	const size = "--innodb-log-file-size=32M"
	common := append([]string{"--no-defaults", size}, asUser()...)

	err = fill(ctx, dir, "mariadb", []string{version, size}, func(data, scratch string) error {
		args := append(common[:len(common):len(common)], "--datadir="+data,
			"--auth-root-authentication-method=normal", "--skip-test-db")
		return initialize(ctx, scratch, installer, args...)
	})
	if err != nil {
		return plan{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "init.sql"), []byte(initSQL), 0o600); err != nil {
		return plan{}, err
	}
	_, number, _ := strings.Cut(version, " Ver ")
	return plan{
		version: "mariadbd " + number,
		path:    path,
		args: func(port int) ([]string, error) {
			args := append(common[:len(common):len(common)], sqlArgs(dir, port)...)
			// As MySQL has it by default, and as a server with replicas has it.
			return append(args, "--log-bin=binlog", "--sync-binlog=1"), nil
		},
		hasty:   append(hastySQL(), "--skip-log-bin"),
		address: sqlAddress,
		ready:   sqlReady(dir),
	}, nil
}
