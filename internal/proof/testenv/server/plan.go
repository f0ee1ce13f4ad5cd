//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// ErrNoServers says that no variable says where the program withservers is, which
// knows how to start a server.
var ErrNoServers = errors.New("FLAKEPASS_TEST_WITHSERVERS does not say where withservers is; \"make servers\" builds bin/withservers")

// Prepare makes the data of a server, named as withservers names it, in dir, an
// empty folder with an absolute path. It starts nothing: Start does. The program
// withservers does the work, which the variable FLAKEPASS_TEST_WITHSERVERS names;
// it is [ErrNoServers] if that is not set.
func Prepare(ctx context.Context, name, dir string, port int) (*Process, error) {
	program := os.Getenv("FLAKEPASS_TEST_WITHSERVERS")
	if program == "" {
		return nil, ErrNoServers
	}
	cmd := exec.CommandContext(ctx, program, "-prepare", name, "-dir", dir, "-port", strconv.Itoa(port))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("server: prepare %s: %w", name, err)
	}
	line := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	return &Process{Path: line[0], Args: line[1:], Dir: dir}, nil
}
