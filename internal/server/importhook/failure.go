package importhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
)

// A failure is why there was no answer: the other system was not reached, took too long, or answered
// that it failed. It says so in words of this package alone: the errors of net/http repeat parts of what was received, and a system that
// repeats the question has the password there.
type failure struct {
	what  string
	cause error
}

func (f *failure) Error() string { return f.what }

// Unwrap is for errors.Is; nothing prints it.
func (f *failure) Unwrap() error { return f.cause }

// broken reports whether err says that the other system does not work. An answer that is none because
// of what is in it says that of one question: a stranger may have brought it about by what was typed.
func broken(err error) bool {
	_, ok := errors.AsType[*failure](err)
	return ok
}

// failedBy is the failure of a request.
func failedBy(err error) error {
	errno, ofSystem := errors.AsType[syscall.Errno](err)
	timeout, ofNet := errors.AsType[net.Error](err)
	_, ofName := errors.AsType[*net.DNSError](err)
	_, ofCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	what := "the connection failed, or what it sends is not HTTP"
	switch {
	case errors.Is(err, context.Canceled):
		what = "the client has left"
	case errors.Is(err, context.DeadlineExceeded), ofNet && timeout.Timeout():
		what = "it took longer than " + patience.String()
	case ofName:
		what = "its name is not found"
	case ofCertificate:
		what = "its certificate is not accepted"
	case ofSystem:
		what = errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		what = "the connection ended before its answer"
	}
	return &failure{what, err}
}
