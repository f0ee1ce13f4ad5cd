package importhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// An answer is what the other system sends.
type answer struct {
	Result     string `json:"result"`
	Username   string `json:"username"`
	ExternalID string `json:"external_id"`
	Role       string `json:"role"`
	Disabled   bool   `json:"disabled"`
}

// parse reads an answer about that name. Its result is "right", "wrong" or "unknown", which is as
// wrong. With "right" it may have the external ID of the user, and say that the account is
// disabled. The name has to be the one that was asked about, in any spelling, and the role
// user: an answer makes no admin. Members that are not known, there twice, or null, are refused.
//
// No error repeats a part of the answer.
func parse(text []byte, username string) (account.Said, error) {
	var a answer
	if err := json.Unmarshal(text, &a, json.RejectUnknownMembers(true)); err != nil {
		return account.Said{}, errors.New("its answer is not an object of JSON with the members result, username, external_id, role and disabled")
	}
	var members map[string]any // of a member that is null nothing is left in a
	if err := json.Unmarshal(text, &members); err != nil || hasNull(members) {
		return account.Said{}, errors.New("a member of its answer is null")
	}
	switch a.Result {
	case "wrong", "unknown":
		return account.Said{}, nil
	case "right":
	default:
		return account.Said{}, errors.New("the result in its answer is not right, wrong or unknown")
	}
	if a.Username != "" {
		if name, err := account.NormalizeUsername(a.Username); err != nil || name != username {
			return account.Said{}, errors.New("its answer is about another username")
		}
	}
	if a.Role != "" && a.Role != string(account.RoleUser) {
		return account.Said{}, errors.New("the role in its answer is not user")
	}
	if err := account.CheckExternalID(a.ExternalID); err != nil {
		return account.Said{}, errors.New("the external_id in its answer cannot be one")
	}
	return account.Said{Right: true, ExternalID: a.ExternalID, Disabled: a.Disabled}, nil
}

func hasNull(members map[string]any) bool {
	for _, value := range members {
		if value == nil {
			return true
		}
	}
	return false
}

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
