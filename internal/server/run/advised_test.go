package run_test

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/server/run"
)

// TestAdviceIsAboutTheServerOnlyIfItIsTheNetwork: every number of the system is a [net.Error],
// also that of an output that is full.
func TestAdviceIsAboutTheServerOnlyIfItIsTheNetwork(t *testing.T) {
	for err, want := range map[error]bool{
		&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}: true,
		&net.DNSError{Err: "no such host"}:                                   true,
		&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}: false,
	} {
		if says := run.Advised(err).Error(); strings.Contains(says, "is the server running") != want {
			t.Error(says)
		}
	}
}

func TestServerThatWantsTLSIsToldOfTheURL(t *testing.T) {
	t.Parallel()
	if err := run.Advised(&mysql.MySQLError{Number: 3159}); !strings.Contains(err.Error(), "?tls=true") {
		t.Errorf("no advice: %v", err)
	}
}
