//go:build unix

// Command withservers runs a command with real servers around it:
//
//	withservers [-only mysql,mariadb,redis,zookeeper] [-durable] -- go test ./...
//	withservers -prepare mysql -dir DIR -port PORT
//
// It starts a MySQL, a MariaDB, a Redis and a ZooKeeper on free ports of
// 127.0.0.1, in a folder of its own, gives the command their addresses in the variables that
// package testenv reads, and ends them when the command is over, failed or
// interrupted. Its exit status is the command's.
//
// No test kills these servers and none reads their data once they have ended,
// so they keep it in memory and wait for no disk, unless -durable is given. The
// command's temporary files lie in memory too, if there is room: a disk that is
// busy with the output of a compiler makes a commit of SQLite, or of a server of a
// test's own, take seconds, and flakepass gives a statement three.
//
// The second form starts nothing: see printCommand. A server started so is for a
// test that may kill it, and is always durable.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// startWithin bounds the start of all servers together, with the making of
// their first data folders, which takes MySQL five seconds on a slow disk.
const startWithin = 3 * time.Minute

func main() {
	only := flag.String("only", "mysql,mariadb,redis,zookeeper", "the servers to start, separated by commas")
	durable := flag.Bool("durable", false, "let MySQL and MariaDB flush every commit to a disk, as in production: for who measures")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: withservers [-only mysql,mariadb,redis,zookeeper] [-durable] -- command [argument ...]")
		flag.PrintDefaults()
	}
	prepare := flag.String("prepare", "", "only print how to start this one server, on -port and from -dir, which is made ready for it")
	dir := flag.String("dir", "", "an empty folder, for -prepare")
	port := flag.Int("port", 0, "a free port, for -prepare")
	flag.Parse()
	if *prepare != "" {
		if err := printCommand(os.Stdout, *prepare, *dir, *port); err != nil {
			fmt.Fprintln(os.Stderr, "withservers:", err)
			os.Exit(1)
		}
		os.Exit(0) // the tests of this program call main in a program that would go on
	}
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	status, err := run(strings.Split(*only, ","), *durable, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "withservers:", err)
	}
	os.Exit(status)
}

// run returns the exit status of the command. The error says what went wrong
// apart from the command itself.
func run(names []string, durable bool, command []string) (status int, err error) {
	ctx, stop := interruptible()
	defer stop()

	// Debian keeps servers where an ordinary user's PATH does not reach. The
	// tests inherit this.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin"); err != nil {
		return 1, err
	}
	folder := ""
	if !durable {
		folder = server.Memory(server.RoomForServers)
	}
	dir, err := os.MkdirTemp(folder, "flakepass-test-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	began := time.Now()
	up, err := startAll(ctx, dir, names, durable)
	defer func() { err = errors.Join(err, stopAll(up)) }()
	if err != nil {
		return 1, err
	}
	environment := append(os.Environ(), "FLAKEPASS_TEST_REQUIRE_SERVERS=1")
	if program, err := os.Executable(); err == nil {
		environment = append(environment, self+"="+program)
	}
	if memory := server.Memory(server.RoomForTests); !durable && memory != "" {
		temporary, err := folderIn(memory)
		if err != nil {
			return 1, err
		}
		defer func() { _ = os.RemoveAll(temporary) }()
		environment = append(environment, "TMPDIR="+temporary)
	}
	for _, u := range up {
		environment = append(environment, u.kind.variable+"="+u.address)
		fmt.Fprintf(os.Stderr, "withservers: %s is ready, process %d\n", u.version, u.process.PID())
	}
	fmt.Fprintf(os.Stderr, "withservers: started in %v\n", time.Since(began).Round(time.Millisecond))

	status = runCommand(ctx, command, environment)
	for _, u := range up {
		if !u.process.Running() {
			err = errors.Join(err, fmt.Errorf("%s ended before the command did:\n%s", u.kind.name, u.process.LogTail()))
		}
	}
	if err != nil {
		status = max(status, 1)
	}
	return status, err
}

// folderIn makes a folder for temporary files of any user. Its name is short: a
// socket's path has 107 characters at most.
func folderIn(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "fp-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o777|os.ModeSticky) // as /tmp is
}

// stopAll ends all servers at the same time.
func stopAll(up []*running) error {
	ended := make(chan error)
	for _, u := range up {
		go func() { ended <- u.process.Stop() }()
	}
	var err error
	for range up {
		err = errors.Join(err, <-ended)
	}
	return err
}

// A running server is one that answers.
type running struct {
	kind    kind
	version string // its name and version, for people
	address string // what its variable says
	process *server.Process
}
