package flakepass_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

// TestPageOfAProxyIsNoVerdict: a 401 or 403 of something in between refuses neither the token
// that is asked about nor the credential of the service, and the error does not say so.
func TestPageOfAProxyIsNoVerdict(t *testing.T) {
	t.Parallel()
	for kind, ours := range map[string]bool{"text/html": false, "application/json": false, "": false, "application/problem+json": true} {
		for _, status := range []int{401, 403} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"code":"key_revoked"}`)
			}))
			remote, err := flakepass.NewRemote(flakepass.RemoteOptions{
				URL: server.URL, Client: server.Client(),
				Credential: func(context.Context) (flakepass.Token, error) { return flakepass.NewToken(7), nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = remote.Verify(t.Context(), flakepass.NewToken(1<<60))
			var refusal *flakepass.Refusal
			if err == nil || errors.As(err, &refusal) || errors.Is(err, flakepass.ErrCredential) != ours {
				t.Errorf("%d %q: %v", status, kind, err)
			}
			remote.Close()
			server.Close()
		}
	}
}
