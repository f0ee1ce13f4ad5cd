// Package client calls a flakepass server over its HTTP contract: what an app, a
// service or an operator's program does, from registering to changing how long
// logins last. It uses the standard library only.
//
//	c, err := client.New(client.Options{URL: "https://auth.example.org"})
//	...
//	in, err := c.Login(ctx, client.Credentials{Username: "alice", Password: client.NewPassword(typed)})
//	...
//	me, err := c.As(in.Token).Me(ctx)
//
// To check the tokens of others, request by request, use [flakepass.Remote]
// instead: it speaks POST /v1/verifications and GET /v1/revocations, remembers
// answers, and receives every logout.
//
// # Errors
//
// What flakepass answers with a status of 400 or more is a [*Problem]. Its code
// is an error as well, so that errors.Is distinguishes problems:
//
//	if errors.Is(err, client.UsernameTaken) { ... }
//
// What is no answer of flakepass, such as the page of a proxy, is [ErrAnswer], whatever its status.
// Everything else is an error of the way there, and wraps that of net/http. No
// error holds a token or a password.
//
// A Problem with the status 401 says that the token or the service key of the call is dead.
// [Client.Login] and [Client.Issue] have other codes with this status, such as
// [SecondFactorRequired]. Every other error says nothing of the token: keep it and ask again.
//
// # Trying again
//
// A call is sent once, unless [Options].Retries says otherwise. Then a call that
// changes nothing, or that may safely be made twice, is sent again after a 503 or
// a 429, at the time that the server gives in Retry-After and a random part more.
// These are the methods that read, [Client.Logout], [Client.LogoutOthers],
// [Client.LogoutEverywhere], [Client.EndMySession], [Client.EndSession],
// [Client.DeleteUser], [Client.RevokeServiceKey], [Client.Introspect] and [Client.Revoke], and
// [Client.Issue] with a RequestID. No other call is ever repeated: a
// second login would end the first, and a second change could undo the
// change of another.
//
// # Redirects
//
// None is followed, for the token would go along. An answer that is one is
// [ErrAnswer], which names the address.
package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/internal/baseurl"
)

// A Client calls one flakepass server. It may be used by many goroutines, and
// has nothing to close.
type Client struct {
	base    *url.URL
	http    *http.Client
	long    *http.Client // for an answer of any length
	own     func(context.Context) (credential, error)
	retries int
	page    int
}

// Options say which server a [Client] calls, and as whom.
type Options struct {
	// URL is where flakepass answers, such as https://auth.example.org. Over http
	// the token and the passwords can be read on the way. Required.
	URL string
	// HTTP sends the calls: whatever is to be known of TLS, proxies and time limits
	// is in it. It is not changed; its CheckRedirect and its cookies are not used.
	// nil means a client whose calls end after 30 seconds, but for [Client.ExportMe]. Without a Transport, a connection
	// of HTTP/2 that does not answer is left after 10 seconds.
	HTTP *http.Client
	// Token is asked for the caller's token before every call that needs one. If Token fails, the
	// call fails. nil is enough for [Client.Register], [Client.Login], [Client.ResetPassword] and
	// [Client.Ready]; see also [Client.As].
	Token func(context.Context) (flakepass.Token, error)
	// Key stands in the place of Token for a service. The server takes a service key for
	// [Client.Introspect], [Client.Revoke], [Client.Issue], [Client.FindUser] and
	// [Client.ChangeNamesByKey], and for no other call. At most one of Token and Key is set.
	Key func(context.Context) (flakepass.ServiceKey, error)
	// Retries is how often a call is sent again at most, if it may be: see the
	// package. 0 means never.
	Retries int
	// PageSize is how many entries of a list one call asks for, 1 to 200. 0 means
	// 100.
	PageSize int
}

// patience is how long a connection of HTTP/2 may be silent during a call until it is asked whether it lives,
// and how long that answer may take.
const patience = 5 * time.Second

// New returns a client. It connects to nothing yet; the error says what is wrong
// with o.
func New(o Options) (*Client, error) {
	u, err := baseurl.Parse("client: Options.URL", o.URL)
	switch {
	case err != nil:
		return nil, err
	case o.Token != nil && o.Key != nil:
		return nil, errors.New("client: Options.Token and Options.Key must not both be set")
	case o.Retries < 0:
		return nil, errors.New("client: Options.Retries must not be below 0")
	case o.PageSize < 0 || o.PageSize > 200:
		return nil, errors.New("client: Options.PageSize must be from 1 to 200")
	}
	c := &Client{base: u, http: &http.Client{}, retries: o.Retries, page: cmp.Or(o.PageSize, 100)}
	switch {
	case o.Token != nil:
		c.own = func(ctx context.Context) (credential, error) { return o.Token(ctx) }
	case o.Key != nil:
		c.own = func(ctx context.Context) (credential, error) { return o.Key(ctx) }
	}
	if o.HTTP != nil {
		c.http.Transport, c.http.Timeout = o.HTTP.Transport, o.HTTP.Timeout
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok && c.http.Transport == nil {
		t = t.Clone()
		// One connection of HTTP/2 takes all calls. The system would take a quarter of an hour to find that it is dead.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience}
		c.http.Transport = t
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.long = c.http
	if o.HTTP == nil {
		c.http = &http.Client{Transport: c.long.Transport, CheckRedirect: c.long.CheckRedirect, Timeout: 30 * time.Second}
	}
	return c, nil
}

// As returns a client of the same server whose calls bring that token.
func (c *Client) As(t flakepass.Token) *Client {
	other := *c
	other.own = func(context.Context) (credential, error) { return t, nil }
	return &other
}

// AsService returns a client of the same server whose calls bring that service key.
func (c *Client) AsService(k flakepass.ServiceKey) *Client {
	other := *c
	other.own = func(context.Context) (credential, error) { return k, nil }
	return &other
}

// A credential is a token or a service key.
type credential interface {
	IsZero() bool
	Reveal() string
}
