package flakepass_test

import (
	"context"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
)

// TestRemoteAndClientTakeTheSameAddresses: with one that is none every call would fail, at a
// time when nobody looks.
func TestRemoteAndClientTakeTheSameAddresses(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"https://auth.internal": true, "http://auth.internal:8080/below/": true, "http://[::1]:8080": true, "HTTP://auth.internal": true,
		"": false, "auth.internal": false, "/v1": false, "https://": false, "http://:8080": false, "ftp://auth.internal": false, "http://auth internal": false,
		"http://auth.internal/?": false, "http://auth.internal/?a=b": false, "http://auth.internal/#a": false, "http://a:secret@auth.internal": false,
	} {
		_, remote := flakepass.NewRemote(flakepass.RemoteOptions{
			URL: text, Credential: func(context.Context) (flakepass.Token, error) { return flakepass.NewToken(7), nil },
		})
		_, calls := client.New(client.Options{URL: text})
		for option, err := range map[string]error{"RemoteOptions.URL": remote, " Options.URL": calls} {
			if (err == nil) != good || err != nil && (!strings.Contains(err.Error(), option) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}
