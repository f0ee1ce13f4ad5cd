package flakepass_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

// TestRemoteFollowsNoRedirect: the credential of the service and the tokens of its
// users would go along.
func TestRemoteFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) }))
		remote, err := flakepass.NewRemote(flakepass.RemoteOptions{
			URL: server.URL, Client: server.Client(),
			Credential: func(context.Context) (flakepass.Token, error) { return flakepass.NewToken(7), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if who, err := remote.Verify(t.Context(), flakepass.NewToken(1<<60)); err == nil {
			t.Errorf("%d: the answer is %+v", status, who)
		}
		remote.Close()
		server.Close()
	}
}
