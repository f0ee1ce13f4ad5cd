package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/internal/pause"
	"github.com/flakepass/flakepass/api/wire"
)

// maxAnswer is how much of an answer is read, in bytes: a page of 200 events, each
// as large as it can be.
const maxAnswer = 4 << 20

// ErrAnswer means that the answer did not come from flakepass, or not from one
// that keeps the contract: look at the URL, and at what stands in between. It says nothing
// of the token, also if the status is 401.
var ErrAnswer = errors.New("not an answer of flakepass; is the URL right?")

// errNoToken is of a call that needs a token, by a client that has none.
var errNoToken = errors.New("client: this call needs a token, and the client has none; set Options.Token, or use As")

// A call is one request, and what it may be answered.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte // as kind says; nil for none
	kind         string // the media type of body
	open         bool   // needs no token
	again        bool   // may be sent twice
	none         int    // the status of a success without a body; 0 if there is none
}

const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
)

// send is the call whose body is v in JSON, unless v is nil, with what else is to be said of it.
func send(method, path string, v any, with ...func(*call)) (*call, error) {
	r := &call{method: method, path: path}
	if v != nil {
		b, err := json.Marshal(v)
		if err != nil { // an IDs' and times' fault; secrets are not repeated by encoding/json
			return nil, fmt.Errorf("client: %w", err)
		}
		r.body, r.kind = b, typeJSON
	}
	for _, f := range with {
		f(r)
	}
	return r, nil
}

// read is a call that changes nothing.
func read(path string, query url.Values) *call {
	return &call{method: http.MethodGet, path: path, query: query, again: true}
}

// do makes the call, again where it may, and returns the body of the success and
// its status.
func (c *Client) do(ctx context.Context, r *call) ([]byte, int, error) {
	for try := 0; ; try++ {
		body, status, err := c.once(ctx, r)
		var p interface { // a *Problem, or a *page
			later() bool
			wait() time.Duration
		}
		if !errors.As(err, &p) || !r.again || try >= c.retries || !p.later() || !pause.For(ctx, p.wait()) {
			return body, status, err
		}
	}
}

func (c *Client) once(ctx context.Context, r *call) ([]byte, int, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("client: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode >= http.StatusBadRequest: // also if the rest was lost: the status is known
		return nil, resp.StatusCode, refused(resp, body)
	case err != nil:
		return nil, 0, fmt.Errorf("client: read the answer: %w", err)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return nil, 0, redirected(resp)
	case len(body) > maxAnswer:
		return nil, 0, fmt.Errorf("client: an answer of more than %d bytes: %w", maxAnswer, ErrAnswer)
	case len(body) == 0 && resp.StatusCode == r.none:
		return nil, resp.StatusCode, nil
	case mediaType(resp.Header) != typeJSON:
		return nil, 0, fmt.Errorf("client: status %d without JSON: %w", resp.StatusCode, ErrAnswer)
	}
	return body, resp.StatusCode, nil
}

// request is the call as net/http knows it.
func (c *Client) request(ctx context.Context, r *call) (*http.Request, error) {
	u := c.base.JoinPath(r.path)
	u.RawQuery = r.query.Encode()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if flakepass.IsPassive(ctx) {
		req.Header.Set(flakepass.PassiveHeader, "1")
	}
	if r.open {
		return req, nil
	}
	if c.own == nil {
		return nil, errNoToken
	}
	t, err := c.own(ctx)
	if err != nil {
		// Not wrapped: a refusal of the caller is not one of the user for whom the call is.
		return nil, fmt.Errorf("client: no token to call with: %v", err) //nolint:errorlint // see above
	}
	if t.IsZero() {
		return nil, errNoToken
	}
	req.Header.Set("Authorization", "Bearer "+t.Reveal())
	return req, nil
}

// redirected says where the server wants the call to go. Of the address it keeps
// scheme and host: the rest is not needed to put the URL right.
func redirected(resp *http.Response) error {
	to := "elsewhere"
	if at, err := resp.Location(); err == nil && at.Host != "" {
		to = fmt.Sprintf("%q", at.Scheme+"://"+at.Host)
	}
	return fmt.Errorf("client: status %d, a redirect to %s, which was not followed, for the token would go along: %w", resp.StatusCode, to, ErrAnswer)
}

// mediaType is that of an answer, without parameters, or empty.
func mediaType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// An answer is the body of a success. Complete is as in package wire.
type answer interface{ Complete() bool }

// get makes the call and reads its answer.
func get[T answer](ctx context.Context, c *Client, r *call) (T, error) {
	var v T
	body, _, err := c.do(ctx, r)
	if err != nil {
		return v, err
	}
	return decode[T](body)
}

// decode reads the body of a success. Members that it does not know are passed
// over: the server may be newer.
func decode[T answer](body []byte) (T, error) {
	var v, none T
	if json.Unmarshal(body, &v) != nil || !v.Complete() {
		return none, fmt.Errorf("client: JSON that is not what was asked for: %w", ErrAnswer)
	}
	return v, nil
}

// act sends v where the answer is nothing, or when all instances know.
func (c *Client) act(ctx context.Context, method, path string, v any, with ...func(*call)) (time.Duration, error) {
	r, err := send(method, path, v, with...)
	if err != nil {
		return 0, err
	}
	r.none = http.StatusNoContent
	body, status, err := c.do(ctx, r)
	if err != nil || status == http.StatusNoContent {
		return 0, err
	}
	p, err := decode[wire.Pending](body)
	return time.Duration(p.Within), err
}

// open is for a call that needs no token, and repeatable for one that may be sent twice.
func open(r *call)       { r.open = true }
func repeatable(r *call) { r.again = true }

// ask sends v and reads the answer.
func ask[T answer](ctx context.Context, c *Client, method, path string, v any, with ...func(*call)) (T, error) {
	r, err := send(method, path, v, with...)
	if err != nil {
		var none T
		return none, err
	}
	return get[T](ctx, c, r)
}

// maxWait is how long a call waits at most before it is sent again. If the
// server asks for longer, the call returns the problem instead.
const maxWait = 30 * time.Second

// later reports whether the problem may be over soon.
func (p *Problem) later() bool {
	return (p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests) && p.RetryAfter <= maxWait
}

// wait is when to try again: after the time that the server gives, or a second,
// and up to half of it more, so that clients that were refused together do not come
// back together.
func (p *Problem) wait() time.Duration {
	d := max(p.RetryAfter, time.Second)
	return d + rand.N(d/2) //nolint:gosec // jitter
}
