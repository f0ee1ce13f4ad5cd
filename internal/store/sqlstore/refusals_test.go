package sqlstore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestOnlyWhatMayPassIsWaitedFor: the rest needs a person.
func TestOnlyWhatMayPassIsWaitedFor(t *testing.T) {
	refused := func(number uint16) error { return &mysql.MySQLError{Number: number} }
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"connection refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{"a name that does not resolve", &net.DNSError{IsNotFound: true}, true},
		{"no answer in time", context.DeadlineExceeded, true},
		{"a connection that ends", mysql.ErrInvalidConn, true},
		{"a server that the driver leaves", driver.ErrBadConn, true},
		{"read-only", sqlstore.ErrReadOnly, true},
		{"read-only, at a statement", refused(1290), true},
		{"too many connections", refused(1040), true},
		{"a node of Galera without the others", refused(1047), true},
		{"a member that was thrown out", refused(3100), true},
		{"shutting down", refused(1053), true},
		{"a wrong password", refused(1045), false},
		{"no right to the database", refused(1044), false},
		{"an unknown database", refused(1049), false},
		{"a table of somebody else", refused(1050), false},
		{"an unknown authority", x509.UnknownAuthorityError{}, false},
		{"a certificate of another host", &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}}}, false},
		{"a refusal by TLS", &net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, false},
		{"no TLS", mysql.ErrNoTLS, false},
		{"a wrong setting", errors.New("innodb_rollback_on_timeout=ON"), false},
	} {
		if got := sqlstore.MayPass(fmt.Errorf("database: %w", c.err)); got != c.want {
			t.Errorf("%s: waited for %v, want %v", c.name, got, c.want)
		}
	}
}
