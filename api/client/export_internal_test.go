package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// A slowAnswer is an answer of three parts, each of which takes a while. It ends with its context.
type slowAnswer struct {
	ctx  context.Context //nolint:containedctx // of the request, as in an answer of net/http
	left int
}

func (a *slowAnswer) Read(b []byte) (int, error) {
	if a.left == 0 {
		return 0, io.EOF
	}
	a.left--
	select {
	case <-a.ctx.Done():
		return 0, a.ctx.Err()
	case <-time.After(20 * time.Second):
		return copy(b, "{} "), nil
	}
}

func (*slowAnswer) Close() error { return nil }

func (*slowAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: &slowAnswer{r.Context(), 3}, Request: r}, nil
}

// TestExportHasTheTimeThatItTakes: the limit of 30 seconds for a call, which is that of a client without one of its own, does not
// cut it off. Other limits do.
func TestExportHasTheTimeThatItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for limit, want := range map[time.Duration]bool{0: true, 30 * time.Second: false} {
			o := Options{URL: "http://x"}
			if limit > 0 {
				o.HTTP = &http.Client{Timeout: limit}
			}
			c, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			c.http.Transport, c.long.Transport = &slowAnswer{}, &slowAnswer{}
			c = c.As(flakepass.NewToken(7))
			var b bytes.Buffer
			if err := c.ExportMe(t.Context(), &b); (err == nil) != want {
				t.Errorf("%v: %q %v", limit, &b, err)
			}
			if _, err := c.Me(t.Context()); err == nil {
				t.Errorf("%v: an answer of a minute", limit)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := c.ExportMe(ctx, &b); err == nil {
				t.Errorf("%v: longer than the context", limit)
			}
		}
	})
}
