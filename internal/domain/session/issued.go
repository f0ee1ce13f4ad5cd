package session

import (
	"crypto/sha256"
	"errors"
	"time"
)

// An Issued says how an issuer opens a session. Then by is the issuer, who has a service key,
// and the right of that is checked in the transaction in which the session begins.
type Issued struct {
	Auth
	// Request identifies the request of the issuer, if it is to be safe to repeat: a session
	// that the same request has opened within [RequestLife] ends for the new one, whatever the
	// policy says. Begin fails with [ErrRequestReused] if it had another body.
	Request *Request
	// Factor is since when the user has the second factor of which a code was accepted; zero
	// if none was needed. It is kept with Request, for which the code is not looked at again.
	Factor time.Time
}

// A Request is hashes of what an issuer calls its request and of the body.
type Request struct{ Name, Body [sha256.Size]byte }

// RequestLife is for how long a request of an issuer is known again.
const RequestLife = 10 * time.Minute

// ErrRequestReused means that an issuer has sent two bodies under one name.
var ErrRequestReused = errors.New("another request had that name")
